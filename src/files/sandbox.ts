import { isObject } from '../codecs.js';

const member = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/**
 * May a request about files run with this `sandbox`, on a server that has none? None, or one that restricts
 * no files: `permissions.type` is `disabled` or `external`, or `managed` with an unrestricted file system.
 *
 * @param externalSandbox the operator says that this machine is the sandbox: then anything may run
 */
export const sandboxIsHarmless = (sandbox: unknown, externalSandbox = false): boolean => {
  if (sandbox === undefined || sandbox === null || externalSandbox) return true;
  const permissions = member(sandbox, 'permissions');
  switch (member(permissions, 'type')) {
    case 'disabled':
    case 'external':
      return true;
    case 'managed':
      return member(member(permissions, 'file_system'), 'type') === 'unrestricted';
    default:
      return false;
  }
};
