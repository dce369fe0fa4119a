import { isLeft } from 'fp-ts/lib/Either.js';
import { absolutePath } from '../file-uri.js';
import type { Method, Params } from '../protocol.js';
import { ErrorCode, type RequestId, type RpcError } from '../rpc.js';
import { sandboxIsHarmless } from './sandbox.js';

type FileMethod = Extract<Method, `fs/${string}`>;
type EventType<M extends FileMethod> = M extends `fs/${infer Name}` ? `fs.${Name}` : never;

/** The params with their paths absolute, or why the request can't be served. */
export type Located<P> = { readonly params: P } | { readonly refusal: RpcError };

/** A request about files, on its way to the actor that serves it. */
export type FileRequest = {
  [M in FileMethod]: { readonly type: EventType<M>; readonly id: RequestId } & Located<Params<M>>;
}[FileMethod];

/** The members that all methods of files choose from. */
type FileParams = {
  readonly path?: string;
  readonly sourcePath?: string;
  readonly destinationPath?: string;
  readonly sandbox?: unknown;
};

const pathMembers = ['path', 'sourcePath', 'destinationPath'] as const;

const refuse = (message: string): { readonly refusal: RpcError } => ({
  refusal: { code: ErrorCode.invalidParams, message },
});

/** What is wrong is told in this order: the form of the paths, then the sandbox. */
export const located = <P extends FileParams>(
  params: P,
  { externalSandbox }: { readonly externalSandbox: boolean },
): Located<P> => {
  const paths: { [member in (typeof pathMembers)[number]]?: string } = {};
  for (const member of pathMembers) {
    const given = params[member];
    if (given === undefined) continue;
    const path = absolutePath(given);
    if (isLeft(path)) return refuse(`${member}: ${path.left}`);
    paths[member] = path.right;
  }
  if (!sandboxIsHarmless(params.sandbox, externalSandbox)) {
    return refuse('sandbox intent cannot be enforced on this executor');
  }
  return { params: { ...params, ...paths } };
};
