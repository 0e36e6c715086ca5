/**
 * The place where blocks are made before they are shown: MathJax measures what it typesets, and measuring in the transcript
 * would lay all of it out anew for every block.
 */

import * as React from 'react';

const CLASS = 'jp-agent-bench';

/** Calls back once, in a pause of the page, when the panel is seen for the first time. */
export function Bench(props: { onSeen: (bench: HTMLElement) => void }): JSX.Element {
  const bench = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => {
    const element = bench.current!;
    const observer = new IntersectionObserver(entries => {
      if (entries.some(entry => entry.isIntersecting)) {
        observer.disconnect();
        // Safari knows no pauses.
        (window.requestIdleCallback ?? window.setTimeout)(() => props.onSeen(element));
      }
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return <div ref={bench} className={CLASS} aria-hidden={true} />;
}

/** The bench of the panel that `element` is in. */
export function benchOf(element: HTMLElement): HTMLElement | null {
  return element.closest('.jp-agent-panel')?.querySelector<HTMLElement>(`.${CLASS}`) ?? null;
}
