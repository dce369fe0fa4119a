/** What is done when this process exits, however it comes to that; only SIGKILL leaves no time for it. */
const tasks = new Set<() => void>();

const runAll = (): void => {
  for (const task of tasks) {
    try {
      task();
    } catch {
      // nobody is left to be told, and the others have to run
    }
  }
};

/**
 * Runs a task when this process exits. It must be synchronous. One listener serves all: Node warns of more
 * than ten.
 *
 * @returns takes the task back
 */
export const atExit = (task: () => void): (() => void) => {
  if (tasks.size === 0) process.on('exit', runAll);
  tasks.add(task);
  return () => {
    tasks.delete(task);
    if (tasks.size === 0) process.off('exit', runAll);
  };
};
