import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EnvironmentInfo } from './protocol.js';

const FALLBACK_SHELL = '/bin/sh';

/** The login shell of the account this server runs as. */
const loginShell = (): string => {
  try {
    const { shell } = os.userInfo();
    if (shell !== null && shell !== '' && path.isAbsolute(shell)) return shell;
  } catch {
    // no entry for this uid in the password file: as containers do it
  }
  return FALLBACK_SHELL;
};

/** HOME, or what the password file says. */
const homeDirectory = (): string => {
  try {
    return os.homedir();
  } catch {
    return '/'; // no HOME, and no entry for this uid in the password file
  }
};

const uri = (directory: string): string => pathToFileURL(directory).href;

/** What environment/info answers (docs/protocol.md section 4). An absent capability means no. */
export const environmentInfo = (version: string): EnvironmentInfo => {
  const shell = loginShell();
  const tempDir = uri(os.tmpdir());
  return {
    shell: { name: path.basename(shell), path: shell },
    executorVersion: version,
    cwd: uri(process.cwd()),
    userHomeDir: uri(homeDirectory()),
    tempDir,
    temporaryDirectories: [tempDir],
    platformOs: process.platform === 'darwin' ? 'macos' : process.platform,
    capabilities: {},
  };
};
