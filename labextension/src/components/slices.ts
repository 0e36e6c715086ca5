/** Work in small pieces, one after the other, so that the page draws and answers in between. */

/** Milliseconds of work before the page may draw a frame. */
const SLICE = 12;
/** Milliseconds after which work goes on without a frame: a hidden page draws none. */
const WITHOUT_FRAME = 100;

let tail: Promise<void> = Promise.resolve();
let sliceEnd = 0;

/** Runs `task` after all that were given before; a task that fails does not stop the next. */
export function enqueue(task: () => Promise<void>): Promise<void> {
  const done = tail.then(task);
  tail = done.catch(() => undefined).then(breathe);
  return done;
}

async function breathe(): Promise<void> {
  if (performance.now() > sliceEnd) {
    await nextFrame();
    sliceEnd = performance.now() + SLICE;
  }
}

/** Resolves when the page has drawn: a task posted by an animation frame runs after that frame's layout and paint. */
function nextFrame(): Promise<void> {
  return new Promise(resolve => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve();
    const go = (): void => {
      window.cancelAnimationFrame(frame);
      window.clearTimeout(timer);
      channel.port2.postMessage(null);
    };
    const frame = window.requestAnimationFrame(go);
    const timer = window.setTimeout(go, WITHOUT_FRAME);
  });
}
