/** Tokens, cost and how full the model's context is. */

import * as React from 'react';
import { compactNumber, money } from '../view/format';
import type { ITotals } from '../view/state';
import { useServices } from './services';

export function Meter(props: { totals: ITotals }): JSX.Element | null {
  const { trans } = useServices();
  const { input, output, cached, cost, costIsPartial, contextUsed, contextLimit } = props.totals;
  if (input + output === 0) {
    return null;
  }
  const share = contextLimit > 0 ? Math.min(1, contextUsed / contextLimit) : 0;
  const price = cost === null ? trans.__('price unknown') : `${money(cost)}${costIsPartial ? ` + ${trans.__('unknown')}` : ''}`;
  const words = [
    trans.__('%1 tokens in (%2 from cache), %3 out', compactNumber(input), compactNumber(cached), compactNumber(output)),
    price,
    contextLimit > 0
      ? trans.__('context %1 of %2 (%3 %)', compactNumber(contextUsed), compactNumber(contextLimit), String(Math.round(share * 100)))
      : ''
  ].filter(word => word);
  const label = words.join(' · ');
  return (
    <span className="jp-agent-meter" title={label} role="img" aria-label={label}>
      <span>{compactNumber(input + output)}</span>
      {cost !== null && <span>{money(cost)}</span>}
      {contextLimit > 0 && (
        <svg viewBox="0 0 20 20" className={share > 0.85 ? 'jp-mod-full' : ''} aria-hidden="true">
          <circle cx="10" cy="10" r="7.5" />
          <circle cx="10" cy="10" r="7.5" pathLength={100} strokeDasharray={`${share * 100} 100`} transform="rotate(-90 10 10)" />
        </svg>
      )}
    </span>
  );
}
