import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * The server as it was at a revision, built in a directory of its own with the packages that are installed here.
 * Answers where; it is removed when this process ends. Throws if git does not know the revision, or it does not
 * build.
 */
export const buildRevision = (root: string, revision: string): string => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-base-'));
  process.once('exit', () => fs.rmSync(directory, { recursive: true, force: true }));
  const archive = execFileSync('git', ['archive', revision], { cwd: root, maxBuffer: 1024 * 1024 * 1024 });
  execFileSync('tar', ['-x'], { cwd: directory, input: archive });
  fs.symlinkSync(fs.realpathSync(path.join(root, 'node_modules')), path.join(directory, 'node_modules'));
  execFileSync('npm', ['run', 'build'], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] });
  return directory;
};
