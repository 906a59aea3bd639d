//! `console/code`.

use std::time::Instant;

use protocol::Timestamp;
use protocol::error::{ErrorKind, ErrorObject};
use protocol::method::{ConsoleCodeParams, ConsoleCodeResult};
use secrecy::ExposeSecret as _;

use crate::console::codes::VALID_FOR;
use crate::error::invalid_state;
use crate::router::Context;

pub(crate) async fn code(context: Context, _: ConsoleCodeParams) -> Result<ConsoleCodeResult, ErrorObject> {
    let console = &context.shared.console;
    if !console.is_enabled {
        return Err(ErrorObject::with(ErrorKind::InvalidState, "the web console is off", |data| {
            data.hint = Some("set console.enabled to true and restart the gateway".to_owned());
        }));
    }
    let Some(token_sha256) = &context.peer.actor.secret_sha256 else {
        return Err(invalid_state("a code stands for a token, and stdio has none"));
    };
    let code = console.codes.make(token_sha256, Instant::now()).map_err(|failure| {
        ErrorObject::new(ErrorKind::InternalError, format!("the system gave no random bytes: {failure}"))
    })?;
    let lifetime = i64::try_from(VALID_FOR.as_millis()).unwrap_or(i64::MAX);
    let expires_at = context.shared.store.now().milliseconds().saturating_add(lifetime);
    Ok(ConsoleCodeResult {
        code: code.expose_secret().to_owned(),
        expires_at: Timestamp::from_milliseconds(expires_at),
    })
}
