import { createHash } from 'node:crypto';

/** Where the viewer lives, and the page of it that draws inspected actors. */
export const VIEWER_ORIGIN = 'https://stately.ai';
const VIEWER_URL = `${VIEWER_ORIGIN}/inspect`;

/** The viewer asks for events by `@statelyai.connected`; what came before is kept until then. */
const script = `
const viewer = document.querySelector('iframe');
let waiting = [];
const show = (event) => viewer.contentWindow.postMessage(event, '${VIEWER_ORIGIN}');
addEventListener('message', ({ origin, data }) => {
  if (origin !== '${VIEWER_ORIGIN}' || data?.type !== '@statelyai.connected') return;
  waiting?.forEach(show);
  waiting = undefined;
});
const relay = new WebSocket(location.href.replace(/^http/, 'ws'));
relay.onmessage = ({ data }) => {
  const event = JSON.parse(data);
  if (waiting === undefined) show(event);
  else waiting.push(event);
};
relay.onclose = () => { document.title = 'exec-server (ended)'; };
`;

const style = 'html, body, iframe { width: 100%; height: 100%; margin: 0; border: 0; display: block }';

const sha256 = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The viewer in a frame, and the script that hands it what the relay sends. */
export const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>exec-server</title>
<style>${style}</style>
<iframe title="Stately inspector" src="${VIEWER_URL}" referrerpolicy="no-referrer"></iframe>
<script>${script}</script>
</html>
`;

/** @param host name and port of the relay: the only thing but the viewer that the page may speak to */
export const pageHeaders = (host: string): Readonly<Record<string, string>> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src ${sha256(script)}`,
    `style-src ${sha256(style)}`,
    `frame-src ${VIEWER_ORIGIN}`,
    `connect-src ws://${host}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
});
