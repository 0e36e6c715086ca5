/**
 * The last gate before a model's text becomes part of the page: an allow-list over the parsed tree. No scripts, styles,
 * forms or foreign content; links only to the web or to files of the workspace; nothing is loaded from elsewhere.
 */

import type { IRenderMime } from '@jupyterlab/rendermime';

const KEPT = new Set(
  (
    'a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img input kbd li ol p pre s span strong sub ' +
    'summary sup table tbody td th thead tr ul'
  ).split(' ')
);
/** Elements whose content is not text for a person. */
const DROPPED = new Set(
  'script style template noscript iframe object embed svg math link meta base form textarea select button video audio'.split(
    ' '
  )
);
const WEB = /^(?:https?:\/\/|mailto:)/i;
const INLINE_IMAGE = /^data:image\/(?:png|jpe?g|gif|webp|svg\+xml)[;,]/i;
const PATH = /^(?![a-z][a-z0-9+.-]*:|[/\\]|\.\.)[^\0]+$/i;
const CLASSES = /^[\w\u0080-\uffff -]{0,200}$/;

export class MarkdownSanitizer implements IRenderMime.ISanitizer {
  constructor(private readonly words: { image: (host: string) => string }) {}

  sanitize(dirty: string): string {
    const parsed = new DOMParser().parseFromString(dirty, 'text/html');
    const target = document.implementation.createHTMLDocument('');
    const root = target.createElement('div');
    this.copy(parsed.body, root);
    return root.innerHTML;
  }

  private copy(from: Node, to: Element): void {
    for (const node of Array.from(from.childNodes)) {
      if (node.nodeType === Node.TEXT_NODE) {
        to.append(to.ownerDocument.createTextNode(node.nodeValue ?? ''));
      } else if (node.nodeType === Node.ELEMENT_NODE) {
        this.copyElement(node as Element, to);
      }
    }
  }

  private copyElement(from: Element, to: Element): void {
    const name = from.localName;
    if (DROPPED.has(name)) {
      return;
    }
    if (!KEPT.has(name)) {
      this.copy(from, to);
      return;
    }
    if (name === 'img') {
      this.copyImage(from, to);
      return;
    }
    if (name === 'input' && from.getAttribute('type') !== 'checkbox') {
      return;
    }
    const made = to.ownerDocument.createElement(name);
    const classes = from.getAttribute('class');
    if (classes && CLASSES.test(classes)) {
      made.setAttribute('class', classes);
    }
    if (name === 'a') {
      setLink(from.getAttribute('href') ?? '', made);
    } else if (name === 'input') {
      made.setAttribute('type', 'checkbox');
      made.setAttribute('disabled', '');
      made.toggleAttribute('checked', from.hasAttribute('checked'));
    } else if (name === 'ol' && /^\d{1,9}$/.test(from.getAttribute('start') ?? '')) {
      made.setAttribute('start', from.getAttribute('start')!);
    } else if ((name === 'td' || name === 'th') && /^(?:left|right|center)$/.test(from.getAttribute('align') ?? '')) {
      made.setAttribute('align', from.getAttribute('align')!);
    }
    to.append(made);
    this.copy(from, made);
  }

  private copyImage(from: Element, to: Element): void {
    const source = from.getAttribute('src') ?? '';
    const alt = from.getAttribute('alt') ?? '';
    if (INLINE_IMAGE.test(source)) {
      const image = to.ownerDocument.createElement('img');
      image.setAttribute('src', source);
      image.setAttribute('alt', alt);
      to.append(image);
      return;
    }
    // A placeholder that only a click turns into a request: what is in the address would tell its server (fault f76).
    const held = to.ownerDocument.createElement('span');
    held.setAttribute('class', 'jp-agent-heldImage');
    held.setAttribute('data-agent-source', source);
    held.setAttribute('role', 'button');
    held.setAttribute('tabindex', '0');
    held.setAttribute('title', source);
    held.textContent = `${alt ? `${alt} — ` : ''}${this.words.image(hostOf(source))}`;
    to.append(held);
  }
}

function setLink(address: string, anchor: Element): void {
  const cleaned = address.trim();
  if (WEB.test(cleaned)) {
    anchor.setAttribute('href', cleaned);
    anchor.setAttribute('target', '_blank');
    anchor.setAttribute('rel', 'noopener noreferrer nofollow');
    anchor.setAttribute('title', cleaned);
  } else if (PATH.test(cleaned) && !cleaned.includes('..')) {
    anchor.setAttribute('data-agent-path', safeDecode(cleaned));
    anchor.setAttribute('role', 'link');
    anchor.setAttribute('tabindex', '0');
  }
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function hostOf(source: string): string {
  try {
    return new URL(source, document.baseURI).host;
  } catch {
    return source.slice(0, 40);
  }
}
