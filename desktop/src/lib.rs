//! The native application of Foreword, a client of the gateway's protocol. It uses no database and reads no
//! instruction files; its settings and drafts are its only files.

pub mod actions;
pub mod alignment;
pub mod appearance;
pub mod bridge;
pub mod dialogs;
pub mod document;
pub mod gateways;
pub mod hidden;
pub mod icons;
pub mod local_gateway;
pub mod notices;
pub mod session;
pub mod sidebar;
pub mod state;
pub mod strings;
pub mod views;
pub mod workbench;

use gpui_kit::component::TitleBar;
use gpui_kit::prelude::*;
use gpui_kit::{AnyWindowHandle, App, Bounds, Entity, WindowBounds, WindowOptions, px, size};

pub use bridge::{Gateway, Link};
pub use document::DocumentEditor;
pub use session::{PageId, Session, SessionEvent, Subject};
pub use state::paths::{DesktopArguments, Paths, UsageError};
pub use state::settings::{Appearance, Settings};
pub use workbench::Workbench;

/// Opens the application and returns when its last window is closed.
pub fn run(paths: Paths) {
    gpui_kit::application().with_assets(gpui_kit::assets::AllAssets).run(move |cx| {
        init(cx);
        cx.set_global(appearance::SystemScale::find());
        if open_window(paths, cx).is_err() {
            cx.quit();
            return;
        }
        // There is no tray icon and no menu outside the windows, so a process without a window could only be
        // killed.
        cx.on_window_closed(|cx, _| {
            if cx.windows().is_empty() {
                cx.quit();
            }
        })
        .detach();
        cx.activate(true);
    });
}

/// Initializes the toolkit and the keys before the first window.
pub fn init(cx: &mut App) {
    gpui_kit::init(cx);
    actions::bind_keys(cx);
}

/// Opens a window and connects to the gateway that was used last.
pub fn open_window(paths: Paths, cx: &mut App) -> gpui_kit::Result<(AnyWindowHandle, Entity<Workbench>)> {
    let (gateway, incoming) = Gateway::start()?;
    // Broken settings must not keep the window from opening. The first change in the window sets the damaged
    // file aside.
    let (settings, problem) = match Settings::load(&paths.state) {
        Ok(settings) => (settings, None),
        Err(error) => (Settings::default(), Some(error.to_string())),
    };
    let options = WindowOptions {
        window_bounds: Some(WindowBounds::Windowed(Bounds::centered(None, size(px(1280.), px(820.)), cx))),
        window_min_size: Some(size(px(640.), px(400.))),
        app_id: Some("dev.foreword.desktop".to_owned()),
        ..TitleBar::window_options()
    };
    gpui_kit::open_window(options, cx, |window, cx| {
        let session = cx.new(|cx| Session::new(gateway, incoming, paths, cx));
        workbench::connect(&session, &settings, cx).detach();
        if let Some(problem) = problem {
            notices::problem(&problem, window, cx);
        }
        cx.new(|cx| Workbench::new(session, settings, window, cx))
    })
}
