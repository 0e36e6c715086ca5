/** When this page last did something in a notebook for the server (`performance.now()`): drawing makes way for it. */
export const work = {
  last: -Infinity,
  note(): void {
    this.last = performance.now();
  }
};
