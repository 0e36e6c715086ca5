/** Small parts used in several places. */

import type { LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { clip } from '../view/format';
import { useServices } from './services';

export function IconButton(props: {
  icon: LabIcon;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  className?: string;
  pressed?: boolean;
  expanded?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      className={`jp-agent-iconButton ${props.className ?? ''}`}
      title={props.label}
      aria-label={props.label}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <props.icon.react tag="span" className="jp-agent-icon" />
    </button>
  );
}

/** Text in the code font, cut at `limit` characters with a way to see the rest. */
export function LongText(props: { text: string; limit?: number; className?: string }): JSX.Element {
  const { trans } = useServices();
  const [all, setAll] = React.useState(false);
  const clipped = all ? { text: props.text, hidden: 0 } : clip(props.text, props.limit ?? 6000);
  return (
    <>
      <pre className={`jp-agent-pre ${props.className ?? ''}`} tabIndex={0}>
        {clipped.text}
      </pre>
      {clipped.hidden > 0 && (
        <button className="jp-agent-link" onClick={() => setAll(true)}>
          {trans.__('Show all (%1 more characters)', clipped.hidden.toLocaleString())}
        </button>
      )}
    </>
  );
}

/** Keeps rendering mistakes of one part from emptying the whole panel. */
export class Boundary extends React.Component<{ message: string; children: React.ReactNode }, { failed: string }> {
  override state = { failed: '' };

  static getDerivedStateFromError(error: unknown): { failed: string } {
    return { failed: String(error) };
  }

  override render(): React.ReactNode {
    return this.state.failed ? (
      <div className="jp-agent-note jp-mod-error" title={this.state.failed}>
        {this.props.message}
      </div>
    ) : (
      this.props.children
    );
  }
}

/** Calls back for a click or focus outside of the element, and for Escape. */
export function useDismiss(ref: React.RefObject<HTMLElement>, active: boolean, dismiss: () => void): void {
  React.useEffect(() => {
    if (!active) {
      return undefined;
    }
    const outside = (event: Event): void => {
      if (ref.current && !ref.current.contains(event.target as Node)) {
        dismiss();
      }
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        dismiss();
      }
    };
    document.addEventListener('pointerdown', outside, true);
    ref.current?.addEventListener('keydown', escape);
    const element = ref.current;
    return () => {
      document.removeEventListener('pointerdown', outside, true);
      element?.removeEventListener('keydown', escape);
    };
  }, [ref, active, dismiss]);
}
