//! The actions of the window and their keys.

use gpui_kit::{App, KeyBinding, actions};

actions!(
    foreword,
    [
        Quit,
        CloseWindow,
        NewWindow,
        ZoomIn,
        ZoomOut,
        ZoomReset,
        ToggleTheme,
        ShowGateways,
        Reconnect,
        StartGateway,
        NewWorkspace,
        FocusSidebar,
        FocusMain,
        FocusFilter,
        ShowKeys,
        // In the tree, on the row that is selected.
        SelectNext,
        SelectPrevious,
        SelectFirst,
        SelectLast,
        PageDown,
        PageUp,
        MoveIn,
        MoveOut,
        OpenSelected,
        NewDocument,
        NewFolder,
        NewThread,
        Rename,
        PickUp,
        PutDown,
        LetGo,
        Delete,
        // On a document, in the tree or in the editor.
        ShowHistory,
        ArchiveDocument,
        ShowEffective,
        ShowPrompt,
        ShowCompare,
        // In the editor.
        SaveNow,
        Find,
        FindNext,
        FindPrevious,
        CloseFind,
        ToggleInherited,
        TakeRemote,
        OverwriteRemote,
        TakeMerge,
        // In a thread.
        AllowCall,
        DenyCall,
        CancelTurn,
    ]
);

/// The contexts in which keys mean something.
pub const WORKBENCH: &str = "Workbench";
pub const SIDEBAR: &str = "ForewordSidebar";
pub const DOCUMENT: &str = "ForewordDocument";
pub const FIND: &str = "ForewordFind";
pub const THREAD: &str = "ForewordThread";

/// A key with the platform's main modifier.
macro_rules! with_main {
    ($key:literal) => {
        if cfg!(target_os = "macos") { concat!("cmd-", $key) } else { concat!("ctrl-", $key) }
    };
}

/// A key that works while text is being edited.
macro_rules! with_alt {
    ($key:literal) => {
        // Option alone types special letters on macOS, so the key needs Command as well.
        if cfg!(target_os = "macos") { concat!("cmd-alt-", $key) } else { concat!("alt-", $key) }
    };
}

/// Binds the keys.
pub fn bind_keys(cx: &mut App) {
    // A context limits a key to the focused part of the window, so that Delete or Ctrl+V in the tree cannot
    // fire while text is being edited. Keys without a letter-producing meaning are bound for the whole
    // window.
    let everywhere = Some(WORKBENCH);
    let tree = Some(SIDEBAR);
    let document = Some(DOCUMENT);
    let thread = Some(THREAD);
    cx.bind_keys([
        KeyBinding::new(with_main!("q"), Quit, everywhere),
        KeyBinding::new(with_main!("w"), CloseWindow, everywhere),
        KeyBinding::new(with_main!("shift-w"), NewWindow, everywhere),
        KeyBinding::new(with_main!("="), ZoomIn, everywhere),
        KeyBinding::new(with_main!("shift-="), ZoomIn, everywhere),
        KeyBinding::new(with_main!("-"), ZoomOut, everywhere),
        KeyBinding::new(with_main!("0"), ZoomReset, everywhere),
        KeyBinding::new(with_main!("shift-l"), ToggleTheme, everywhere),
        KeyBinding::new(with_main!("shift-g"), ShowGateways, everywhere),
        KeyBinding::new(with_main!("shift-r"), Reconnect, everywhere),
        KeyBinding::new(with_main!("shift-o"), NewWorkspace, everywhere),
        KeyBinding::new(with_main!("shift-s"), StartGateway, everywhere),
        KeyBinding::new(with_main!("1"), FocusSidebar, everywhere),
        KeyBinding::new(with_main!("2"), FocusMain, everywhere),
        KeyBinding::new(with_main!("shift-f"), FocusFilter, everywhere),
        KeyBinding::new("f1", ShowKeys, everywhere),
        KeyBinding::new(with_main!("n"), NewDocument, everywhere),
        KeyBinding::new(with_main!("shift-n"), NewFolder, everywhere),
        KeyBinding::new(with_main!("t"), NewThread, everywhere),
        KeyBinding::new(with_main!("h"), ShowHistory, everywhere),
        KeyBinding::new(with_main!("e"), ShowEffective, everywhere),
        KeyBinding::new(with_main!("p"), ShowPrompt, everywhere),
        KeyBinding::new(with_main!("shift-c"), ShowCompare, everywhere),
        KeyBinding::new("down", SelectNext, tree),
        KeyBinding::new("up", SelectPrevious, tree),
        KeyBinding::new("home", SelectFirst, tree),
        KeyBinding::new("end", SelectLast, tree),
        KeyBinding::new("pagedown", PageDown, tree),
        KeyBinding::new("pageup", PageUp, tree),
        KeyBinding::new("right", MoveIn, tree),
        KeyBinding::new("left", MoveOut, tree),
        KeyBinding::new("enter", OpenSelected, tree),
        KeyBinding::new("f2", Rename, tree),
        KeyBinding::new(with_main!("x"), PickUp, tree),
        KeyBinding::new(with_main!("v"), PutDown, tree),
        KeyBinding::new("escape", LetGo, tree),
        KeyBinding::new("delete", Delete, tree),
        KeyBinding::new(with_main!("s"), SaveNow, document),
        KeyBinding::new(with_main!("f"), Find, document),
        KeyBinding::new("f3", FindNext, document),
        KeyBinding::new("shift-f3", FindPrevious, document),
        KeyBinding::new(with_main!("i"), ToggleInherited, document),
        KeyBinding::new(with_main!("shift-backspace"), ArchiveDocument, document),
        KeyBinding::new(with_alt!("r"), TakeRemote, document),
        KeyBinding::new(with_alt!("o"), OverwriteRemote, document),
        KeyBinding::new(with_alt!("m"), TakeMerge, document),
        KeyBinding::new(with_alt!("a"), AllowCall, thread),
        KeyBinding::new(with_alt!("d"), DenyCall, thread),
        KeyBinding::new(with_alt!("c"), CancelTurn, thread),
        KeyBinding::new("escape", CloseFind, Some(FIND)),
        KeyBinding::new("enter", FindNext, Some(FIND)),
        KeyBinding::new("shift-enter", FindPrevious, Some(FIND)),
    ]);
}

/// Returns the keys in groups, as the help shows them.
pub fn listed() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    use crate::strings::keys;
    vec![
        (
            keys::WINDOW,
            vec![
                ("secondary-1", keys::FOCUS_SIDEBAR),
                ("secondary-2", keys::FOCUS_MAIN),
                ("secondary-shift-f", keys::FOCUS_FILTER),
                ("secondary-=", keys::ZOOM_IN),
                ("secondary--", keys::ZOOM_OUT),
                ("secondary-0", keys::ZOOM_RESET),
                ("secondary-shift-l", keys::THEME),
                ("secondary-shift-g", keys::GATEWAYS),
                ("secondary-shift-r", keys::RECONNECT),
                ("secondary-shift-o", keys::NEW_WORKSPACE),
                ("secondary-shift-s", keys::START),
                ("secondary-shift-w", keys::NEW_WINDOW),
                ("secondary-w", keys::CLOSE),
            ],
        ),
        (
            keys::TREE,
            vec![
                ("enter", keys::OPEN),
                ("secondary-n", keys::NEW_DOCUMENT),
                ("secondary-shift-n", keys::NEW_FOLDER),
                ("secondary-t", keys::NEW_THREAD),
                ("f2", keys::RENAME),
                ("secondary-x", keys::PICK_UP),
                ("secondary-v", keys::PUT_DOWN),
                ("delete", keys::DELETE),
                ("secondary-h", keys::HISTORY),
                ("secondary-e", keys::EFFECTIVE),
                ("secondary-p", keys::PROMPT),
                ("secondary-shift-c", keys::COMPARE),
            ],
        ),
        (
            keys::EDITOR,
            vec![
                ("secondary-s", keys::SAVE),
                ("secondary-f", keys::FIND),
                ("f3", keys::FIND_NEXT),
                ("secondary-i", keys::INHERITED),
                ("secondary-shift-backspace", keys::ARCHIVE),
                (with_alt!("r"), keys::TAKE_REMOTE),
                (with_alt!("o"), keys::OVERWRITE),
                (with_alt!("m"), keys::MERGE),
            ],
        ),
        (
            keys::THREAD,
            vec![
                ("secondary-enter", keys::SEND),
                (with_alt!("a"), keys::ALLOW),
                (with_alt!("d"), keys::DENY),
                (with_alt!("c"), keys::CANCEL),
            ],
        ),
        (keys::LISTS, vec![("up", keys::NEWER), ("down", keys::OLDER), ("tab", keys::NEXT_CONTROL)]),
    ]
}
