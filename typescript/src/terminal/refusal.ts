/** What the program won't do, with no part of the library to blame. */

import { TandemError } from "../core/errors.ts";

/** A wish that was not followed; the message says why, and what to do. */
export class RefusedError extends TandemError {}
