//! `foreword doctor`: checks everything that a gateway needs.

mod check;
mod files;
mod running;

use std::path::Path;

use client::{ClientError, Target};
use gateway::Database;
use protocol::Timestamp;
use protocol::local::{DATABASE_FILE, GATEWAY_FILE};
use serde_json::json;

use self::check::{Check, Verdict};
use crate::command::gateway::serve::sandbox_hint;
use crate::config::directories::Directories;
use crate::config::providers;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::output::count;
use crate::output::progress::Progress;

/// Connections that one gateway may open to PostgreSQL, plus some for administration.
const POSTGRES_CONNECTIONS: i64 = 32;
/// Oldest tested version of PostgreSQL.
const POSTGRES_VERSION: i64 = 140_000;
/// Clock difference from which database times look wrong beside local ones.
const CLOCK_DIFFERENCE_MS: u64 = 5_000;
/// A time before this version was released, which only an unset clock shows.
const EARLIEST: &str = "2026-01-01T00:00:00Z";

pub(crate) async fn run(context: &Context) -> Result<Exit, Failure> {
    let data = &context.directories.data;
    let mut checks = vec![configuration(context)];
    checks.extend(files::data_directory(data));
    checks.push(files::secrets(&context.directories.home));
    checks.push(gateway(data).await);
    checks.extend(running::roots(context).await);
    // Only the check of the database may take long, so only it shows progress.
    let progress = Progress::start(context.output, "checking the database");
    match context.database() {
        Ok(Database::Sqlite(path)) => {
            checks.extend([embedded(&context.directories.data, &path).await, clock()]);
        }
        Ok(database @ Database::Postgres(_)) => checks.extend(server(&database).await),
        Err(failure) => checks.push(of_failure("database", &failure)),
    }
    drop(progress);
    checks.extend(mcp_servers(context));
    checks.extend([sandbox(context), files::disk_space(&context.directories.data), files::handles()]);
    report(context.output, &checks)
}

/// Reports an unreadable configuration and everything that does not depend on it.
pub(crate) async fn without_configuration(
    output: Output,
    directories: Option<&Directories>,
    failure: &Failure,
) -> Result<Exit, Failure> {
    let mut checks = vec![of_failure("configuration", failure)];
    if let Some(Directories { data, home, .. }) = directories {
        checks.extend(files::data_directory(data));
        checks.push(files::secrets(home));
        checks.push(gateway(data).await);
        // The configuration names the database, so without it only the data directory's own can be checked.
        let embedded_file = data.join(DATABASE_FILE);
        if embedded_file.exists() {
            let _progress = Progress::start(output, "checking the database");
            checks.push(embedded(data, &embedded_file).await);
        }
        checks.push(files::disk_space(data));
    }
    checks.extend([clock(), files::handles()]);
    let unseen = "providers, the sandbox and a database elsewhere were not looked at";
    checks.push(Check::warn("others", unseen).hint("fix the configuration, and run doctor again"));
    report(output, &checks)
}

fn report(output: Output, checks: &[Check]) -> Result<Exit, Failure> {
    let must_mend = checks.iter().any(|check| check.verdict == Verdict::Fail);
    let result = json!({ "ok": !must_mend, "checks": checks });
    output.data(&result, || checks.iter().map(Check::lines).collect())?;
    Ok(if must_mend { Exit::CheckFailed } else { Exit::Done })
}

fn of_failure(name: &'static str, failure: &Failure) -> Check {
    Check { hint: failure.hints.first().cloned(), ..Check::fail(name, &failure.message) }
}

fn configuration(context: &Context) -> Check {
    // Building the providers also reads their key files, which finds problems that parsing the configuration
    // cannot find.
    match providers::build(&context.configuration, |name| std::env::var(name).ok()) {
        Ok(_) => {
            default_model(context).unwrap_or_else(|| Check::ok("configuration", "every value can be used"))
        }
        Err(failure) => of_failure("configuration", &failure),
    }
}

/// Checks the key of the default model's provider.
fn default_model(context: &Context) -> Option<Check> {
    let model = context.configuration.sections().default_model.as_deref()?;
    let (provider, _) = model.split_once('/')?;
    let variable = |name: &str| std::env::var(name).ok();
    let missing = providers::missing_key(&context.configuration, provider, variable)?;
    let message = format!("model.default is {model}, but there is no key for `{provider}`");
    Some(Check::warn("configuration", message).hint(format!("set {missing} in the gateway's environment")))
}

async fn gateway(data: &Path) -> Check {
    match (Target::Local { data: data.to_owned() }).locate() {
        Ok(located) => match running::readiness(&located.url).await {
            Ok(()) => Check::ok("gateway", format!("runs at {}", located.url)),
            Err(reason) => {
                Check::fail("gateway", format!("runs at {}, but is not ready: {reason}", located.url))
                    .hint("see its log and the checks below")
            }
        },
        // A gateway that was killed leaves its address file behind.
        Err(ClientError::NotRunning { .. }) if data.join(GATEWAY_FILE).exists() => {
            Check::warn("gateway", format!("none runs, but {GATEWAY_FILE} is still there"))
                .hint("it is ignored; the next start removes it")
        }
        Err(ClientError::NotRunning { .. }) => Check::ok("gateway", "none runs on this data directory"),
        Err(error) => Check::fail("gateway", error.to_string()),
    }
}

async fn embedded(data: &Path, path: &Path) -> Check {
    // Checked first, because a database that was lost would otherwise look like one that was never created.
    if let Err(error) = gateway::check_database_file(data, &Database::Sqlite(path.to_owned())) {
        return Check::fail("database", error.to_string())
            .hint("put the file back, or restore a backup with `foreword restore`");
    }
    if !path.exists() {
        return Check::ok(
            "database",
            format!("{} does not exist yet; the first start creates it", path.display()),
        );
    }
    let restore = "stop the gateway, move the file away, and restore a backup with `foreword restore`";
    match gateway::check_sqlite(path.to_owned()).await {
        // Damage matters more than an old schema, because a migration must not start on a damaged file.
        Ok(found) if !found.problems.is_empty() => {
            Check::fail("database", format!("{}: {}", path.display(), found.problems.join("; ")))
                .hint(restore)
        }
        Ok(found) if found.missing_migrations > 0 => {
            let whole = format!("{} is whole", path.display());
            older_schema(&whole, found.missing_migrations)
        }
        Ok(_) => Check::ok("database", format!("{} is whole", path.display())),
        Err(error) => Check::fail("database", format!("{}: {error}", path.display())).hint(restore),
    }
}

/// Warns about a schema that the next start migrates, because older versions cannot use it afterwards.
fn older_schema(what: &str, missing: usize) -> Check {
    let plural = if missing == 1 { "" } else { "s" };
    let message = format!("{what}; its schema is of an older version ({missing} migration{plural} behind)");
    Check::warn("database", message).hint(
        "the next start brings it up to date, and older versions cannot use it then; make a backup first",
    )
}

fn clock() -> Check {
    let earliest = EARLIEST.parse::<Timestamp>();
    let now = Timestamp::now();
    if earliest.is_ok_and(|earliest| now < earliest) {
        return Check::fail("clock", format!("it is not {now}")).hint("set the system clock");
    }
    Check::ok("clock", now.to_string())
}

async fn server(database: &Database) -> Vec<Check> {
    let Database::Postgres(address) = database else { return Vec::new() };
    let found = match gateway::ask_postgres(address).await {
        Ok(found) => found,
        Err(error) => {
            let check = Check::fail("database", format!("{database}: {error}"));
            return vec![Check { hint: database.hint(&error), ..check }];
        }
    };
    let database_check = match &found.newer_schema {
        Some(name) => Check::fail("database", format!("{database} has a newer schema ({name})"))
            .hint("use the version of foreword that created it"),
        None if found.missing_migrations > 0 => {
            let server = format!("{database} is PostgreSQL {}", found.version / 10_000);
            older_schema(&server, found.missing_migrations)
        }
        None if found.version < POSTGRES_VERSION => {
            let message = format!("{database} is PostgreSQL {}", found.version / 10_000);
            Check::warn("database", message).hint("use PostgreSQL 14 or newer")
        }
        None => Check::ok("database", format!("{database} is PostgreSQL {}", found.version / 10_000)),
    };
    let connections = format!("max_connections is {}", found.max_connections);
    let connections = if found.max_connections < POSTGRES_CONNECTIONS {
        let hint = format!("a gateway opens up to 16; set it to {POSTGRES_CONNECTIONS} or more");
        Check::warn("connections", connections).hint(hint)
    } else {
        Check::ok("connections", connections)
    };
    let ahead = found.clock_ahead_ms;
    let clock = if ahead.unsigned_abs() > CLOCK_DIFFERENCE_MS {
        Check::warn("clock", format!("the database's is {ahead} ms ahead of this machine's"))
            .hint("let both follow a time server")
    } else {
        Check::ok("clock", "the database's and this machine's agree")
    };
    vec![database_check, connections, clock]
}

/// Checks the requirements of the configured MCP servers.
fn mcp_servers(context: &Context) -> Vec<Check> {
    let sections = context.configuration.sections();
    let servers = &sections.mcp_servers;
    if servers.is_empty() {
        return Vec::new();
    }
    if !sections.mcp_enabled {
        return vec![Check::ok("mcp", "mcp.enabled is false, so that no server is used")];
    }
    let variable = |name: &str| std::env::var(name).ok();
    let lacking = servers.iter().flat_map(|(name, server)| {
        let lacking = server.lacks(variable).into_iter();
        lacking
            .map(move |(message, hint)| Check::warn("mcp", format!("server `{name}`: {message}")).hint(hint))
    });
    let lacking: Vec<Check> = lacking.collect();
    if !lacking.is_empty() {
        return lacking;
    }
    let count = count(servers.len() as u64, "server");
    vec![Check::ok("mcp", format!("{count}; programs and variables are there"))]
}

fn sandbox(context: &Context) -> Check {
    let sections = context.configuration.sections();
    match sections.shell.level() {
        Ok(level) => Check::ok("sandbox", format!("commands run at level `{}`", level.name())),
        Err(reason) if sections.shell_enabled => {
            Check::fail("sandbox", format!("no command will run: {reason}")).hint(sandbox_hint())
        }
        // As long as no command may run, a missing sandbox does not matter. The reason helps a user who wants to
        // enable commands.
        Err(reason) => Check::ok("sandbox", format!("shell.enabled is false; if it were true: {reason}")),
    }
}
