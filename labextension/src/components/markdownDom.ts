/** What is added to rendered markdown: buttons on code, clicks on held images and on links to files. */

import type { IServices } from './services';

/** Puts a small bar with Copy and Insert onto each code block, and lets wide tables scroll on their own. */
export function decorate(node: HTMLElement, services: IServices): void {
  const { trans, actions } = services;
  node.querySelectorAll('a.jp-InternalAnchorLink').forEach(anchor => anchor.remove());
  node.querySelectorAll('pre').forEach(pre => {
    const wrapper = document.createElement('div');
    wrapper.className = 'jp-agent-code';
    const bar = document.createElement('div');
    bar.className = 'jp-agent-codeBar';
    const code = (): string => (pre.textContent ?? '').replace(/\n$/, '');
    const copy = button(trans.__('Copy'), () => {
      void navigator.clipboard.writeText(code()).then(() => {
        copy.textContent = trans.__('Copied');
        window.setTimeout(() => (copy.textContent = trans.__('Copy')), 1500);
      });
    });
    bar.append(copy, button(trans.__('Insert as cell'), () => actions.insertCell(code())));
    pre.replaceWith(wrapper);
    wrapper.append(bar, pre);
  });
  node.querySelectorAll('table').forEach(table => {
    const wrapper = document.createElement('div');
    wrapper.className = 'jp-agent-tableScroll';
    table.replaceWith(wrapper);
    wrapper.append(table);
  });
}

function button(label: string, action: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = label;
  made.addEventListener('click', action);
  return made;
}

/** Loads the image behind a placeholder that the person clicked; true when `target` was one. */
export function onHeldImage(target: HTMLElement): boolean {
  const held = target.closest<HTMLElement>('.jp-agent-heldImage');
  const source = held?.dataset.agentSource;
  if (!held || source === undefined) {
    return false;
  }
  if (/^https?:\/\//i.test(new URL(source, document.baseURI).href)) {
    const image = document.createElement('img');
    image.referrerPolicy = 'no-referrer';
    image.src = source;
    image.alt = held.textContent ?? '';
    held.replaceWith(image);
  }
  return true;
}

/** Opens the file a link points to; true when `target` was such a link. */
export function onPathLink(target: HTMLElement, services: IServices): boolean {
  const path = target.closest<HTMLElement>('[data-agent-path]')?.dataset.agentPath;
  if (path === undefined) {
    return false;
  }
  services.actions.openPath(path);
  return true;
}
