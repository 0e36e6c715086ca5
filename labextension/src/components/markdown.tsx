/** A model's markdown, drawn by JupyterLab's renderer, block by block, a growing last block at most ten times a second. */

import * as React from 'react';
import { holdsMath, prepareMarkdown, splitBlocks } from '../view/markdown';
import { benchOf } from './bench';
import { decorate, onHeldImage, onPathLink } from './markdownDom';
import { IServices, useServices } from './services';
import { enqueue } from './slices';

/** A block beyond this many characters is shown as plain text: rendering it would freeze the page. */
const PLAIN_BEYOND = 20_000;
const THROTTLE = 100;

export function Markdown(props: { source: string }): JSX.Element {
  const blocks = React.useMemo(() => splitBlocks(props.source), [props.source]);
  return (
    <div className="jp-agent-markdown">
      {blocks.map((block, index) => (
        <Block key={index} source={block} />
      ))}
    </div>
  );
}

const Block = React.memo(function Block(props: { source: string }): JSX.Element {
  const services = useServices();
  const host = React.useRef<HTMLDivElement>(null);
  const latest = React.useRef({ source: '', drawn: '', busy: false, timer: 0, last: 0 });
  React.useEffect(() => {
    const state = latest.current;
    state.source = props.source;
    schedule(state, host, services);
  }, [props.source, services]);
  React.useEffect(() => {
    return () => {
      window.clearTimeout(latest.current.timer);
    };
  }, []);
  // The text stands there until the renderer has drawn it, so that nothing jumps or is empty meanwhile.
  const [initial] = React.useState(props.source);
  return React.useMemo(
    () => (
      <div ref={host} className="jp-agent-block" onClick={onClick(services)} onKeyDown={onKey(services)}>
        <p className="jp-agent-plain">{initial}</p>
      </div>
    ),
    [initial, services]
  );
});

interface IDrawing {
  source: string;
  drawn: string;
  busy: boolean;
  timer: number;
  last: number;
}

function schedule(state: IDrawing, host: React.RefObject<HTMLDivElement>, services: IServices): void {
  if (state.busy || state.timer || state.source === state.drawn) {
    return;
  }
  const wait = Math.max(0, state.last + THROTTLE - performance.now());
  state.timer = window.setTimeout(() => {
    state.timer = 0;
    state.busy = true;
    state.drawn = state.source;
    void enqueue(() => draw(state.drawn, host.current, services)).finally(() => {
      state.busy = false;
      state.last = performance.now();
      schedule(state, host, services);
    });
  }, wait);
}

async function draw(source: string, host: HTMLElement | null, services: IServices): Promise<void> {
  if (host === null) {
    return;
  }
  if (source.length > PLAIN_BEYOND) {
    const pre = document.createElement('pre');
    pre.textContent = source;
    host.replaceChildren(pre);
    return;
  }
  const renderer = services.rendermime.createRenderer('text/markdown');
  const model = services.rendermime.createModel({ data: { 'text/markdown': prepareMarkdown(source) } });
  try {
    await renderer.renderModel(model);
    decorate(renderer.node, services);
    if (holdsMath(source)) {
      // The renderer typesets only what is attached to the page.
      benchOf(host)?.replaceChildren(renderer.node);
      await services.rendermime.latexTypesetter?.typeset(renderer.node);
    }
    host.replaceChildren(...Array.from(renderer.node.childNodes));
  } finally {
    renderer.dispose();
    renderer.node.remove();
  }
}

/** Draws one block of each kind out of sight: what JupyterLab loads for them the first time stops the page for a while. */
export function warmUp(bench: HTMLElement, services: IServices): void {
  void enqueue(() => draw('$x$ `x`\n\n```python\nx = 1\n```', bench, services)).then(() => bench.replaceChildren());
}

function onClick(services: IServices): React.MouseEventHandler {
  return event => {
    const target = event.target as HTMLElement;
    if (onHeldImage(target) || onPathLink(target, services)) {
      event.preventDefault();
    }
  };
}

function onKey(services: IServices): React.KeyboardEventHandler {
  return event => {
    const target = event.target as HTMLElement;
    if ((event.key === 'Enter' || event.key === ' ') && (onHeldImage(target) || onPathLink(target, services))) {
      event.preventDefault();
    }
  };
}
