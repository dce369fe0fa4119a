import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import { type Loopback, unguessablePath } from './loopback.js';

/** Where `npm run build` puts them; the sources are one room further away from it than what is built. */
const assets = [
  new URL('../../viewer/', import.meta.url),
  new URL('../../dist/viewer/', import.meta.url),
].find((directory) => fs.existsSync(directory));

const html = (nonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>exec-server</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="viewer.css">
<script type="module" src="viewer.js" nonce="${nonce}"></script>
</head>
<body><noscript>This page draws what the server tells it by a script.</noscript></body>
</html>
`;

/**
 * The page may load its own two files and speak to its own server: nothing else. The terminal makes style
 * elements, which get the nonce.
 */
const headers = (host: string, type: string, nonce?: string): Readonly<Record<string, string>> => ({
  'Content-Type': `${type}; charset=utf-8`,
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src 'self'`,
    `style-src 'self'${nonce === undefined ? '' : ` 'nonce-${nonce}'`}`,
    'img-src data:',
    `connect-src ws://${host}`,
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
});

const NOT_BUILT = 'The page is not built: run «npm run build».\n';

/**
 * Serves the page of the viewer, its files, and its WebSocket, below a path that nobody can guess.
 *
 * @returns the address of the page
 */
export const serveViewer = (server: Loopback, take: (socket: WebSocket) => void): string => {
  const path = unguessablePath();
  const file = (name: string, type: string): void =>
    server.serve(`${path}/${name}`, {
      get: (response) => sendFile(response, name, headers(server.host, type)),
    });
  file('viewer.js', 'text/javascript');
  file('viewer.css', 'text/css');
  server.serve(`${path}/`, {
    get: (response) => {
      const nonce = randomBytes(16).toString('base64url');
      response.writeHead(200, headers(server.host, 'text/html', nonce)).end(html(nonce));
    },
  });
  server.serve(`${path}/events`, { socket: take });
  return `http://${server.host}${path}/`;
};

const sendFile = (response: ServerResponse, name: string, header: Readonly<Record<string, string>>): void => {
  const failed = (): void =>
    void response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' }).end(NOT_BUILT);
  if (assets === undefined) {
    failed();
    return;
  }
  fs.readFile(new URL(name, assets), (error, data) => {
    if (error === null) response.writeHead(200, header).end(data);
    else failed();
  });
};
