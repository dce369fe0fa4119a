import net from 'node:net';
import { type Either, left, right } from 'fp-ts/lib/Either.js';

export type ListenUrl =
  | { readonly kind: 'stdio' }
  /** `host` as it is written in a URL: `127.0.0.1`, `[::1]`. */
  | { readonly kind: 'ws'; readonly host: string; readonly port: number };

/**
 * Reads a `--listen` URL. Left: the error, word for word as docs/protocol.md section 6 has it. A literal
 * address only: a name could mean another interface tomorrow.
 */
export const parseListenUrl = (url: string): Either<string, ListenUrl> => {
  if (url === 'stdio' || url === 'stdio://') return right({ kind: 'stdio' });
  if (!url.startsWith('ws://')) {
    return left(`unsupported --listen URL \`${url}\`; expected \`stdio://\` or \`ws://IP:PORT\``);
  }
  const { v4, v6, port } =
    /^ws:\/\/(?:(?<v4>[\d.]+)|\[(?<v6>[^\]]+)\]):(?<port>\d{1,5})$/.exec(url)?.groups ?? {};
  const isAddress = (v4 !== undefined && net.isIPv4(v4)) || (v6 !== undefined && net.isIPv6(v6));
  if (!isAddress || Number(port) > 65_535) {
    return left(`invalid websocket --listen URL \`${url}\`; expected \`ws://IP:PORT\``);
  }
  return right({ kind: 'ws', host: v4 ?? `[${v6}]`, port: Number(port) });
};

/**
 * Only this machine reaches it, however the address is written.
 *
 * @param host literal, as it is in a ListenUrl
 */
export const isLoopback = (host: string): boolean => {
  const loopback = new net.BlockList();
  loopback.addSubnet('127.0.0.0', 8);
  loopback.addAddress('::1', 'ipv6');
  // without brackets and a zone (`fe80::1%eth0`)
  const address = host.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  return loopback.check(address, net.isIPv6(address) ? 'ipv6' : 'ipv4');
};
