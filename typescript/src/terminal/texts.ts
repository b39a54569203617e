/** Every fixed word that the program prints, so that both languages print the same. */

/** The help text of each command; `""` is the program's own. */
export const HELP: Record<string, string> = {
  "": `tandem-memory: chat with a local model that remembers the conversation.

Usage: tandem-memory COMMAND [OPTIONS]

Commands:
  chat      talk with a model here in the terminal
  models    list the model entries, and which are installed
  pull      fetch a model to the server

Options:
  --help       show this; \`tandem-memory chat --help\` shows a command's options
  --version    show the version
`,
  chat: `tandem-memory chat: talk with a model; each line is a message.

Usage: tandem-memory chat [OPTIONS]

Options:
  --model PATH       the model entry, such as local/chat/small, or a model of the server,
                     such as qwen3:0.6b
  --models FILE      read the model entries from this TOML or JSON file
  --system TEXT      the system prompt
  --max-turns N      how many past turns the model sees
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
};

export const BANNER = "Type a message; /help lists what else can be typed, /bye or Ctrl-D leaves.";

export const PROMPT = "> ";

export const CHAT_HELP = `/bye            leave (so does Ctrl-D)
/clear          forget the conversation; the system prompt stays
/undo           forget the last question and its answer
/retry          ask the question again that failed
/context        show what the model sees, what was dropped and why
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
  leave: "To leave, type /bye or press Ctrl-D.",
  noFailure: "There is nothing to ask again: no question has failed.",
  nothingToUndo: "There is nothing to undo.",
  pullStopped: "Stopped; what was fetched is kept, and the next pull goes on from there.",
  retry: "the question is kept; /retry asks it again",
  stopped: "Stopped; what came is kept.",
  stoppedEarly: "Stopped before an answer came",
  thinkOff: "The model answers without thinking.",
  thinkOn: "The model thinks before it answers.",
  thinkUnset: "The model decides for itself whether it thinks.",
};
