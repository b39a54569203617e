/** Every fixed word that the program prints, so that both languages print the same. */

/** The help text of each command; `""` is the program's own. */
export const HELP: Record<string, string> = {
  "": `tandem-memory: chat with a local model that remembers the conversation.

Usage: tandem-memory COMMAND [OPTIONS]

Commands:
  chat      talk with a model here in the terminal
  models    list the model entries, and which are installed
  pull      fetch a model to the server
  sessions  list the conversations that are stored
  show      print a conversation
  context   show what the model sees of one, and what was dropped
  export    write conversations to a JSON file
  import    read them from one
  forget    remove them for good

Options:
  --help       show this; \`tandem-memory chat --help\` shows a command's options
  --version    show the version
`,
  chat: `tandem-memory chat: talk with a model; each line is a message.

Usage: tandem-memory chat [OPTIONS]

Options:
  --user ID          whose conversation it is (else me)
  --session ID       the session to go on with (else the newest); new begins one
  --store PLACE      where it is kept: an SQLite file, a folder (for JSON files) or none (else
                     TANDEM_MEMORY_STORE, else a file in your data folder)
  --model PATH       the model entry, such as local/chat/small, or a model of the server,
                     such as qwen3:0.6b
  --models FILE      read the model entries from this TOML or JSON file
  --system TEXT      the system prompt
  --max-turns N      how many past turns the model sees
  --summarize        let the model summarise old turns before it loses sight of them: after an
                     answer, while nobody waits; in a pipe, before the next question
  --host URL         the model server (else OLLAMA_HOST, else http://127.0.0.1:11434)
  --think            let the model think before it answers (--no-think: don't)
  --show-thinking    show what it thinks, dimmed (--hide-thinking: don't); shown in a
                     terminal, hidden in a pipe
  --help             show this

In the chat, /help lists what else can be typed. Ctrl-C stops an answer, Ctrl-D leaves.
Piped input works too: echo "Hello" | tandem-memory chat
The exit code is 0; from a pipe 1 where a line failed; 2 where an option is wrong.
`,
  models: `tandem-memory models: list the model entries, and which are installed.

Usage: tandem-memory models [OPTIONS]

Options:
  --models FILE    read the model entries from this TOML or JSON file
  --host URL       the model server (else OLLAMA_HOST, else http://127.0.0.1:11434)
  --help           show this
`,
  pull: `tandem-memory pull: fetch a model to the server.

Usage: tandem-memory pull [PATH] [OPTIONS]

PATH is a model entry, such as local/chat/small, or a model's name, such as qwen3:0.6b;
without one, the model that a chat uses is fetched.

Options:
  --models FILE    read the model entries from this TOML or JSON file
  --host URL       the model server (else OLLAMA_HOST, else http://127.0.0.1:11434)
  --help           show this
`,
  sessions: `tandem-memory sessions: list a user's sessions, the one used last first.

Usage: tandem-memory sessions [OPTIONS]

Options:
  --user ID        whose (else me)
  --store PLACE    an SQLite file, or a folder with JSON files (else TANDEM_MEMORY_STORE, else a
                   file in your data folder)
  --help           show this
`,
  show: `tandem-memory show: print a session, the turns that failed too.

Usage: tandem-memory show [OPTIONS]

Options:
  --user ID        whose (else me)
  --session ID     which session (else the newest)
  --turns N        only the newest N turns
  --store PLACE    an SQLite file, or a folder with JSON files (else TANDEM_MEMORY_STORE, else a
                   file in your data folder)
  --help           show this
`,
  context: `tandem-memory context: show what the model would see of a session, part by part.

Usage: tandem-memory context [OPTIONS]

Each part is told with its tokens, and whether it is kept or was dropped, and why. No model is
asked, and nothing is changed.

Options:
  --user ID        whose (else me)
  --session ID     which session (else the newest)
  --store PLACE    an SQLite file, or a folder with JSON files (else TANDEM_MEMORY_STORE, else a
                   file in your data folder)
  --model PATH     the model that would be asked: an entry, such as local/chat/small, or a model
                   of the server, such as qwen3:0.6b
  --models FILE    read the model entries from this TOML or JSON file
  --system TEXT    the system prompt (else the session's own)
  --max-turns N    how many past turns the model sees
  --json           print one JSON document, for programs
  --help           show this
`,
  export: `tandem-memory export: write sessions to one JSON document, which import takes.

Usage: tandem-memory export [FILE] [OPTIONS]

Without a FILE the document is printed.

Options:
  --user ID        whose (else me)
  --session ID     this session alone (else all of the user's)
  --store PLACE    an SQLite file, or a folder with JSON files (else TANDEM_MEMORY_STORE, else a
                   file in your data folder)
  --force          replace a FILE that is there already
  --help           show this
`,
  import: `tandem-memory import: add the sessions of an exported document, all of them or none.

Usage: tandem-memory import FILE [OPTIONS]

Options:
  --user ID        whose they become (else the same user's as in the document)
  --store PLACE    an SQLite file, or a folder for JSON files (else TANDEM_MEMORY_STORE, else a
                   file in your data folder)
  --help           show this
`,
  forget: `tandem-memory forget: remove a user's every trace for good, or a session's.

Usage: tandem-memory forget [OPTIONS]

Options:
  --user ID        whose (else me)
  --session ID     this session alone
  --store PLACE    an SQLite file, or a folder with JSON files (else TANDEM_MEMORY_STORE, else a
                   file in your data folder)
  --yes            don't ask first
  --help           show this
`,
};

export const BANNER = "Type a message; /help lists what else can be typed, /bye or Ctrl-D leaves.";

export const PROMPT = "> ";

export const CHAT_HELP = `/bye            leave (so does Ctrl-D)
/clear          forget the conversation; the system prompt stays
/undo           forget the last question and its answer
/retry          ask the question again that failed
/context        show what the model sees, what was dropped and why
/history [N]    show the session's newest N turns, else all
/sessions       list your sessions
/new [ID]       begin a session, or go on with that one
/export [FILE]  write the session to a JSON file
/forget         remove all your sessions for good; it asks first
/model [PATH]   show the model, or go on with another one
/think on|off   let the model think before it answers, or not
/help           show this
//TEXT          send a line that begins with a slash
Ctrl-C          stop the answer; what came is kept
`;

/** One line each: what a command did, or what can be done now. */
export const HINTS = {
  cutOff: "The answer was cut off: it had reached the most tokens that it may have.",
  cleared: "The conversation is forgotten.",
  busy: "another program is in the middle of an answer in this session; /retry when it has ended, or begin a session of your own with /new",
  empty: "This session is still empty.",
  kept: "Nothing was removed.",
  lastFailed: "The last question has no answer; /retry asks it again.",
  lastPending:
    "The last question has no answer yet; /retry asks it again, unless another program is answering it.",
  leave: "To leave, type /bye or press Ctrl-D.",
  noFailure: "There is nothing to ask again: no question has failed.",
  nothingToUndo: "There is nothing to undo.",
  nothingStored: "Nothing is stored.",
  pullStopped: "Stopped; what was fetched is kept, and the next pull goes on from there.",
  purgePending:
    "Another program has the store open: what is left in the file goes when it is opened next.",
  retry: "the question is kept; /retry asks it again",
  stopped: "Stopped; what came is kept.",
  stoppedEarly: "Stopped before an answer came",
  thinkOff: "The model answers without thinking.",
  thinkOn: "The model thinks before it answers.",
  thinkUnset: "The model decides for itself whether it thinks.",
};

/** Return a number and what there are so many of: `1 turn`, `2 turns`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
