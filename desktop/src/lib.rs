//! The native application of Foreword: a client of the gateway's protocol and nothing else. It knows no database and reads
//! no instruction files; its own settings and drafts are its only files.

pub mod actions;
pub mod alignment;
pub mod appearance;
pub mod ask;
pub mod bridge;
pub mod document;
pub mod drafts;
pub mod files;
pub mod gateways;
pub mod hidden;
pub mod icons;
pub mod local_gateway;
pub mod notices;
pub mod places;
pub mod session;
pub mod settings;
pub mod sidebar;
pub mod strings;
pub mod tokens;
pub mod views;
pub mod workbench;

use gpui_kit::component::TitleBar;
use gpui_kit::prelude::*;
use gpui_kit::{AnyWindowHandle, App, Bounds, Entity, WindowBounds, WindowOptions, px, size};

pub use bridge::{Gateway, Link};
pub use document::DocumentEditor;
pub use places::{Arguments, Places, UsageError};
pub use session::{Place, Session, SessionEvent, Subject};
pub use settings::{Appearance, Settings};
pub use workbench::Workbench;

/// Opens the application and returns when its last window is closed.
pub fn run(places: Places) {
    gpui_kit::application().with_assets(gpui_kit::assets::AllAssets).run(move |cx| {
        init(cx);
        cx.set_global(appearance::SystemScale::find());
        if open_window(places, cx).is_err() {
            cx.quit();
            return;
        }
        cx.on_window_closed(|cx, _| {
            if cx.windows().is_empty() {
                cx.quit();
            }
        })
        .detach();
        cx.activate(true);
    });
}

/// What has to be there before the first window.
pub fn init(cx: &mut App) {
    gpui_kit::init(cx);
    actions::bind_keys(cx);
}

/// Opens a window and connects to the gateway that was used last.
pub fn open_window(places: Places, cx: &mut App) -> gpui_kit::Result<(AnyWindowHandle, Entity<Workbench>)> {
    let (gateway, incoming) = Gateway::start()?;
    let (settings, problem) = match Settings::load(&places.state) {
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
        let session = cx.new(|cx| Session::new(gateway, incoming, places, cx));
        workbench::connect(&session, &settings, cx).detach();
        if let Some(problem) = problem {
            notices::problem(&problem, window, cx);
        }
        cx.new(|cx| Workbench::new(session, settings, window, cx))
    })
}
