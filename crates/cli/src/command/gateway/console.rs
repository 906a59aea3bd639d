//! `foreword console`: the web console in a browser, signed in.

use std::process::{Command, Stdio};

use client::Client;
use protocol::Timestamp;
use protocol::method::{ConsoleCode, ConsoleCodeParams};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Exit, Failure};

/// Use of the console's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Open,
    Print,
}

#[derive(Serialize)]
struct ConsoleAddress {
    /// Address with a one-time code.
    url: String,
    expires_at: Timestamp,
}

pub(crate) async fn run(context: &Context, action: Action) -> Result<Exit, Failure> {
    let target = context.target()?;
    let url = target.locate()?.url;
    let client = Client::connect(&target).await?;
    let made = client.call::<ConsoleCode>(&ConsoleCodeParams {}).await;
    // A console that is off is a state of the gateway and no wrong use of the command.
    let made = made.map_err(|error| {
        let mut failure = Failure::from(error);
        failure.exit = Exit::Failed;
        failure
    })?;
    // The code is in the fragment, which browsers do not send: it reaches no log of a proxy.
    let address = ConsoleAddress {
        url: format!("{}/console/#code={}", url.trim_end_matches('/'), made.code),
        expires_at: made.expires_at,
    };
    if action == Action::Open {
        if open(&address.url) {
            context.output.note(format!("opened {}/console/ in the browser", url.trim_end_matches('/')));
            return Ok(Exit::Done);
        }
        context.output.warning("no browser could be started", Some("open the address below within a minute"));
    }
    context.output.data(&address, || format!("{}\n", address.url))?;
    Ok(Exit::Done)
}

/// Programs that open an address in the user's browser, by preference.
const OPENERS: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["open"]]
} else if cfg!(windows) {
    &[&["rundll32", "url.dll,FileProtocolHandler"]]
} else {
    &[&["xdg-open"], &["gio", "open"], &["wslview"]]
};

/// Opens an address in the user's browser. Returns false if no program could.
fn open(url: &str) -> bool {
    OPENERS.iter().any(|opener| {
        let [program, arguments @ ..] = opener else { return false };
        let mut command = Command::new(program);
        command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
