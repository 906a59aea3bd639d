//! All texts of the window.

pub mod views;

pub const APPLICATION: &str = "Foreword";
pub const DOCUMENT: &str = "AGENTS.md";
/// Name of the root where a folder's name would be shown.
pub const ROOT: &str = "workspace root";

// Grouped by view, so that a view imports only its own texts. Nothing is translated yet, but all texts are
// here and in `views`, where a translation could replace them.
pub mod link {
    pub const IDLE: &str = "No gateway chosen";
    pub const CONNECTING: &str = "Connecting…";
    pub const CONNECTED: &str = "Connected";
    pub const NOT_RUNNING: &str = "No gateway is running";
    pub const LOST: &str = "Disconnected";
    pub const REFUSED: &str = "Refused";
    pub const RETRY: &str = "Try again";
    pub const START: &str = "Start a gateway";
    pub const START_TIP: &str =
        "Runs `foreword serve` on this machine; it keeps running after the window is closed";
    pub const STARTING: &str = "Starting a gateway…";
    pub const NOT_FOUND: &str = "the command `foreword` was not found beside this program or on the PATH\nhint: install it with \
                                 `cargo install --locked --path crates/cli`, or name it with --foreword FILE";
    pub const CHOOSE: &str = "Gateways…";

    pub fn connected(server: &str) -> String {
        format!("{CONNECTED} · {server}")
    }
    pub fn lost(reason: &str) -> String {
        format!("{LOST}: {reason}")
    }
    pub fn refused(reason: &str) -> String {
        format!("{REFUSED}: {reason}")
    }
    pub fn ended(words: &str) -> String {
        format!("The gateway that was started has ended:\n{words}")
    }
}

pub mod sidebar {
    pub const FILTER: &str = "Filter folders and threads";
    pub const NO_WORKSPACE: &str = "No workspace";
    pub const CHOOSE_WORKSPACE: &str = "Choose a workspace";
    pub const NEW_WORKSPACE: &str = "New workspace…";
    pub const NEW_DOCUMENT: &str = "New AGENTS.md";
    pub const OPEN_DOCUMENT: &str = "Open AGENTS.md";
    pub const NEW_FOLDER: &str = "New folder…";
    pub const NEW_THREAD: &str = "New thread…";
    pub const RENAME: &str = "Rename…";
    pub const MOVE: &str = "Move…";
    pub const DELETE: &str = "Delete…";
    pub const ARCHIVE: &str = "Archive…";
    pub const OPEN: &str = "Open";
    pub const HISTORY: &str = "History";
    pub const EFFECTIVE: &str = "Effective document";
    pub const PROMPT: &str = "Prompt";
    pub const COMPARE: &str = "Compare agents";
    pub const DRAFT: &str = "draft";
    pub const INHERITED: &str = "inherited";
    pub const NEW: &str = "new";
    pub const ACTIVE_TIP: &str = "Agents here read this document";
    pub const DRAFT_TIP: &str = "Only white space: agents here still read the inherited document";
    pub const NEW_TIP: &str = "Nothing is saved here yet, and nothing is inherited";
    pub const FOLDER_OWN_TIP: &str = "This folder has its own document";
    pub const FOLDER_DRAFT_TIP: &str =
        "This folder has a draft: only white space, so the inherited document applies";
    pub const RETRY: &str = "Try again";
    pub const FOLDER_INHERITS_TIP: &str = "This folder inherits its document";
    pub const LOADING: &str = "Loading…";
    pub const NOTHING: &str = "Nothing here yet";
    pub const NOTHING_HINT: &str = "Right-click, or use the buttons above, to write an AGENTS.md for everything in \
                                    this workspace, or to create a folder or a thread.";
    pub const NO_MATCH: &str = "No name contains this";

    pub fn inherited_from(place: &str) -> String {
        format!("Nothing is saved here: agents read the document of {place}")
    }
    pub fn incomplete(reason: &str) -> String {
        format!("Not everything could be loaded: {reason}")
    }
    pub fn more(threads: u64) -> String {
        format!("{threads} more threads")
    }
    pub fn carrying(name: &str) -> String {
        format!("Moving “{name}”: choose a folder and press Ctrl+V, or Escape to cancel")
    }
    pub fn put_here(name: &str) -> String {
        format!("Move “{name}” here")
    }
}

pub mod dialogs {
    pub const OK: &str = "OK";
    pub const CANCEL: &str = "Cancel";
    pub const CREATE: &str = "Create";
    pub const RENAME: &str = "Rename";
    pub const DELETE: &str = "Delete";
    pub const ARCHIVE: &str = "Archive";
    pub const FOLDER_NAME: &str = "Name of the folder";
    pub const THREAD_TITLE: &str = "Title of the thread";
    pub const WORKSPACE_NAME: &str = "Name of the workspace";
    pub const WORKSPACE_ROOT: &str = "Directory on the gateway's machine (may be empty)";
    pub const NEW_WORKSPACE: &str = "New workspace";
    pub const NEW_FOLDER: &str = "New folder";
    pub const NEW_THREAD: &str = "New thread";
    pub const THREAD_IS_AGENT: &str = "May use tools (agent)";
    pub const EMPTY_NAME: &str = "enter a name";

    pub fn rename(name: &str) -> String {
        format!("Rename “{name}”")
    }
    pub fn delete_folder(name: &str) -> String {
        format!("Delete the folder “{name}”?")
    }
    pub const DELETE_FOLDER: &str = "Its AGENTS.md is archived; its folders and threads move to the folder above. \
                                     `foreword folder restore` brings it back.";
    pub fn archive_thread(name: &str) -> String {
        format!("Archive the thread “{name}”?")
    }
    pub const ARCHIVE_THREAD: &str = "It is no longer listed; its turns are kept.";
    pub fn archive_document(place: &str) -> String {
        format!("Archive the AGENTS.md of {place}?")
    }
    pub const ARCHIVE_DOCUMENT: &str =
        "Agents here then read the inherited document. The history keeps every version.";
}

pub mod editor {
    pub const TEXT: &str = "Text of AGENTS.md";
    pub const SAVED: &str = "Saved";
    pub const UNSAVED: &str = "Not saved yet";
    pub const SAVING: &str = "Saving…";
    pub const LOADING: &str = "Loading…";
    pub const OFFLINE: &str = "Offline: your text is kept on this machine and saved when the gateway is back";
    pub const CONFLICT: &str = "Someone else saved meanwhile: choose a text to keep";
    pub const UNMERGED: &str =
        "Both texts are between the marks: edit them into one, or press Ctrl+S to save as it is";
    pub const NOTHING_SAVED: &str = "Nothing is saved here yet";
    pub const RETRY: &str = "Save again";
    pub const PLACEHOLDER: &str = "# Instructions\n\nWrite what agents in this part of the tree should know.";
    pub const INHERITED_TITLE: &str = "Inherited";
    pub const INHERITED_SHOW: &str = "Show the inherited document";
    pub const INHERITED_NOTHING: &str = "Nothing";
    pub const INHERITED_NOTHING_HINT: &str = "No folder above has an active document.";
    pub const INHERITED_ROOT_HINT: &str =
        "This is the workspace root: every folder below inherits this document.";
    pub const HIDDEN: &str = "hidden by the text on the left";
    pub const APPLIES: &str = "applies until something is written on the left";
    pub const READ_ONLY: &str = "read-only";
    pub const FIND: &str = "Find in this document";
    pub const FIND_NEXT: &str = "Next";
    pub const FIND_PREVIOUS: &str = "Previous";
    pub const FIND_CLOSE: &str = "Close";
    pub const NO_MATCH: &str = "no match";
    pub const OVER: &str = "only the first 16,000 reach a prompt";
    pub const DRAFT_FAILED: &str = "unsaved text cannot be kept on this machine";

    pub fn drafts_left(documents: usize) -> String {
        let documents = match documents {
            1 => "one document".to_owned(),
            documents => format!("{documents} documents"),
        };
        format!("Unsaved text of {documents} in this workspace was kept. Open it to save it.")
    }
    pub fn saved_version(version: u64) -> String {
        format!("{SAVED} · version {version}")
    }
    pub fn failed(message: &str) -> String {
        format!("Not saved: {message}")
    }
    pub fn too_long(bytes: usize, limit: usize) -> String {
        let bytes = crate::strings::thousands(bytes);
        let limit = crate::strings::thousands(limit);
        format!(
            "Not saved: {bytes} bytes are more than the {limit} of a document; it is kept on this machine"
        )
    }
    pub fn inherited_from(place: &str) -> String {
        format!("from {place}")
    }
}

pub mod conflict {
    pub const TITLE: &str = "Two edits of one document";
    pub const BASE: &str = "Before both edits";
    pub const LOCAL: &str = "Yours";
    pub const LOCAL_NOTE: &str = "edit it below";
    pub const REMOTE: &str = "On the gateway";
    pub const ARCHIVED: &str = "archived meanwhile";
    pub fn equal_lines(count: usize) -> String {
        format!("{count} equal lines")
    }
    pub const RELOAD: &str = "Reload remote";
    pub const RELOAD_TIP: &str = "Take the gateway's text; yours goes to the clipboard (Alt+R)";
    pub const OVERWRITE: &str = "Overwrite remote";
    pub const OVERWRITE_TIP: &str = "Save yours over it; the history keeps the other (Alt+O)";
    pub const MERGE: &str = "Merge";
    pub const MERGE_CLEAN_TIP: &str = "Both edits touch different lines: take both (Alt+M)";
    pub const MERGE_MARKED: &str = "Merge and edit";
    pub const MERGE_MARKED_TIP: &str =
        "Both edits change the same lines: put both between marks and edit them (Alt+M)";
    pub const GIVEN_UP: &str = "Your text is on the clipboard";
}

pub mod gateways {
    pub const TITLE: &str = "Gateways";
    pub const HINT: &str = "A gateway keeps documents and runs turns. One runs on this machine; others need an address \
                            and a token.";
    pub const LOCAL: &str = "This machine";
    pub const NAME: &str = "Name";
    pub const ADDRESS: &str = "Address, such as https://gateway.example";
    pub const TOKEN: &str = "Token";
    pub const ADD: &str = "Add";
    pub const REMOVE: &str = "Remove";
    pub const CONNECT: &str = "Connect";
    pub const CURRENT: &str = "in use";
    pub const IN_KEYRING: &str = "token in the keyring";
    pub const IN_FILE: &str = "no keyring here: the token is kept in a file that only you can read";
    pub const NO_TOKEN: &str = "its token is no longer on this machine; remove the gateway and add it again";
    pub const TOKEN_NEEDED: &str =
        "enter a token; the gateway's owner creates one with `foreword token create`";
}

pub mod keys {
    pub const TITLE: &str = "Keys";
    pub const WINDOW: &str = "Window";
    pub const TREE: &str = "Tree";
    pub const EDITOR: &str = "Document";
    pub const FOCUS_SIDEBAR: &str = "Go to the tree";
    pub const FOCUS_MAIN: &str = "Go to the open page";
    pub const FOCUS_FILTER: &str = "Filter the tree";
    pub const ZOOM_IN: &str = "Larger text";
    pub const ZOOM_OUT: &str = "Smaller text";
    pub const ZOOM_RESET: &str = "Text size of the system";
    pub const THEME: &str = "Light or dark";
    pub const GATEWAYS: &str = "Gateways";
    pub const RECONNECT: &str = "Connect again";
    pub const NEW_WINDOW: &str = "Another window";
    pub const CLOSE: &str = "Close the window";
    pub const OPEN: &str = "Open";
    pub const NEW_DOCUMENT: &str = "New AGENTS.md";
    pub const NEW_FOLDER: &str = "New folder";
    pub const NEW_THREAD: &str = "New thread";
    pub const RENAME: &str = "Rename";
    pub const PICK_UP: &str = "Cut, to move";
    pub const PUT_DOWN: &str = "Paste here";
    pub const DELETE: &str = "Delete or archive";
    pub const HISTORY: &str = "History";
    pub const EFFECTIVE: &str = "Effective document";
    pub const PROMPT: &str = "Prompt of the thread";
    pub const COMPARE: &str = "Compare agents";
    pub const SAVE: &str = "Save now";
    pub const FIND: &str = "Find";
    pub const FIND_NEXT: &str = "Next match";
    pub const INHERITED: &str = "Show or hide the inherited document";
    pub const ARCHIVE: &str = "Archive";
    pub const TAKE_REMOTE: &str = "Conflict: reload remote";
    pub const OVERWRITE: &str = "Conflict: overwrite remote";
    pub const MERGE: &str = "Conflict: merge";
    pub const NEW_WORKSPACE: &str = "New workspace";
    pub const START: &str = "Start a gateway on this machine";
    pub const THREAD: &str = "Thread";
    pub const SEND: &str = "Send the message";
    pub const ALLOW: &str = "Allow the pending call";
    pub const DENY: &str = "Deny the pending call";
    pub const CANCEL: &str = "Stop the running turn";
    pub const LISTS: &str = "History and everywhere else";
    pub const NEWER: &str = "Newer version";
    pub const OLDER: &str = "Older version";
    pub const NEXT_CONTROL: &str = "Next button or field; Enter presses it";
}

pub mod welcome {
    pub const TITLE: &str = "Instructions that agents read first";
    pub const HINT: &str = "Choose a document or a thread on the left. Press F1 for all keys.";
    pub const NO_WORKSPACE_TITLE: &str = "No workspace yet";
    pub const NO_WORKSPACE_HINT: &str = "A workspace holds the folders, threads and documents of one project or team. \
                                         Create one here, or run `foreword init` in a project.";
    pub const OFFLINE_TITLE: &str = "No gateway";
    pub const OFFLINE_HINT: &str = "Documents and threads are kept by a gateway. Start one on this machine, or connect to \
                                    another one.";
}

pub mod theme {
    pub const TIP: &str = "Light or dark";
    pub const KEYS_TIP: &str = "Keys (F1)";
}

/// Formats a number with separated thousands.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn characters(count: usize, limit: usize) -> String {
    format!("{} / {} characters", thousands(count), thousands(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (16000, "16,000"), (1234567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(thousands(number), text);
        }
    }
}
