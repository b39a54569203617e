#!/usr/bin/env node
/** The terminal program `tandem-memory`. */

import { runProgram } from "./terminal/program.ts";

/** What a shell says of a program whose reader has gone. */
const BROKEN_PIPE = 141;

/** Run the program with the process's own arguments; returns its exit code. */
export async function main(): Promise<number> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(BROKEN_PIPE);
  });
  return await runProgram(process.argv.slice(2));
}

process.exitCode = await main();
// What is left in a pipe after /bye would be waited for.
process.stdin.destroy();
