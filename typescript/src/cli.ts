#!/usr/bin/env node
/** The terminal program `tandem-memory`. */

import { runProgram } from "./terminal/program.ts";

/** What a shell says of a program whose reader has gone. */
const BROKEN_PIPE = 141;

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(BROKEN_PIPE);
});

process.exitCode = await runProgram(process.argv.slice(2));
// What is left in a pipe after /bye would be waited for.
process.stdin.destroy();
