import { LabIcon } from '@jupyterlab/ui-components';

/** A cell with a spark: the agent that lives in the notebook. */
export const agentIcon = new LabIcon({
  name: 'jupyter-agent-live:agent',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16" fill="none">
  <g class="jp-icon3" stroke="#616161" stroke-width="1.3" stroke-linecap="round" stroke-linejoin="round">
    <path d="M8.2 2.4H3.6a1.4 1.4 0 0 0-1.4 1.4v8.4a1.4 1.4 0 0 0 1.4 1.4h8.8a1.4 1.4 0 0 0 1.4-1.4V8.6"/>
    <path d="M5 10.6 6.9 8.8 5 7M8.6 10.8h2.6"/>
  </g>
  <path class="jp-icon3" fill="#616161" d="M12 .9l.75 2.05 2.05.75-2.05.75L12 6.5l-.75-2.05-2.05-.75 2.05-.75z"/>
</svg>`
});

export const sendIcon = new LabIcon({
  name: 'jupyter-agent-live:send',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16" fill="none">
  <path class="jp-icon3" stroke="#616161" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" d="M8 13V3.4M3.8 7.4 8 3.2l4.2 4.2"/>
</svg>`
});
