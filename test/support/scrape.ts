import { once } from 'node:events';
import http from 'node:http';

export type Scrape = {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: string;
  /** By name and labels, as they are written: `exec_server_sessions{state="attached"}`. */
  readonly samples: ReadonlyMap<string, number>;
};

const samplesIn = (body: string): Map<string, number> =>
  new Map(
    body
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line): [string, number] => {
        const at = line.lastIndexOf(' ');
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
  );

/** GET /metrics of the server at this `ws:` URL, over a connection of its own. */
export const scrape = async (
  url: string,
  headers: http.OutgoingHttpHeaders = {},
  method = 'GET',
): Promise<Scrape> => {
  const request = http.request(new URL('/metrics', url.replace(/^ws/, 'http')), {
    method,
    headers,
    agent: false,
  });
  request.end();
  const [response]: http.IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('no response');
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(Buffer.from(part));
  const body = Buffer.concat(parts).toString();
  return {
    status: response.statusCode,
    type: response.headers['content-type'],
    body,
    samples: samplesIn(body),
  };
};

/** Asks again until the metrics are so. The last answer, if they never are. */
export const scrapeUntil = async (
  url: string,
  isSo: (samples: Scrape['samples']) => boolean,
): Promise<Scrape> => {
  let last = await scrape(url);
  for (const end = Date.now() + 10_000; !isSo(last.samples) && Date.now() < end;) last = await scrape(url);
  return last;
};
