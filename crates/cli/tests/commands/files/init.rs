//! `foreword init`.

use crate::support::{Machine, finish};

const MANIFEST: &str = "[package]\nname = 'x'\nedition = '2024'\n[lints.clippy]\nall = 'warn'\n";

const PROPOSAL: &str = "# project\n\n\
                        ## Languages\n\n- Rust, edition 2024 (Cargo.toml)\n\n\
                        ## Build\n\n- `cargo build` (Cargo.toml)\n\n\
                        ## Test and check\n\n- `cargo test` (Cargo.toml)\n\n\
                        ## Lint and format\n\n- `cargo clippy` (Cargo.toml)\n";

const NO_GATEWAY: &str = "no gateway runs, so no workspace was made; start one with `foreword serve`, then run \
                          `foreword init` again\n";

#[test]
fn init_without_a_terminal_writes_nothing() {
    let machine = Machine::new();
    machine.write("project/Cargo.toml", MANIFEST);
    let not_written = "AGENTS.md was not written; `foreword init --yes` writes it\n";
    machine.check("init", PROPOSAL, &format!("{NO_GATEWAY}{not_written}"));
    assert!(!machine.project().join("AGENTS.md").exists());
    let object = machine.run("init --format json").object();
    assert_eq!(object["agents_md"]["proposal"], PROPOSAL);
    assert_eq!((&object["agents_md"]["written"], &object["workspace_made"]), (&false.into(), &false.into()));
    assert!(!machine.project().join("AGENTS.md").exists());
}

#[test]
fn yes_writes_it_once_and_never_over_another() {
    let machine = Machine::new();
    machine.write("project/Cargo.toml", MANIFEST);
    let wrote = "wrote ~/project/AGENTS.md; `foreword show` prints what an agent now reads\n";
    machine.check("init --yes", PROPOSAL, &format!("{NO_GATEWAY}{wrote}"));
    assert_eq!(std::fs::read_to_string(machine.project().join("AGENTS.md")).unwrap(), PROPOSAL);
    // `--yes` answers the question about a new file. It never means consent to overwrite a file that a
    // person wrote.
    machine.write("project/AGENTS.md", "mine\n");
    let stays = "~/project/AGENTS.md already exists and was not changed\n";
    machine.check("init --yes", "", &format!("{NO_GATEWAY}{stays}"));
    assert_eq!(std::fs::read_to_string(machine.project().join("AGENTS.md")).unwrap(), "mine\n");
    // A link that leads nowhere is not written through.
    std::fs::remove_file(machine.project().join("AGENTS.md")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.md", machine.project().join("AGENTS.md")).unwrap();
    machine.check("init --yes", "", &format!("{NO_GATEWAY}{stays}"));
    assert!(!machine.root().join("elsewhere.md").exists());
}

#[test]
fn init_reports_a_taken_name_before_writing() {
    let machine = Machine::new();
    let _server = machine.serve();
    machine.write("project/Cargo.toml", MANIFEST);
    machine.run("workspace create project").done();
    machine.check_code(
        "init --yes",
        2,
        "",
        "error: there is already a workspace named `project`\nhint: choose another name with --name\n\
         hint: `foreword workspace update project --root .` gives that workspace this root instead\n",
    );
    // Had the file been written first, the second attempt with `--name` would find it and report it as the
    // user's own.
    assert!(!machine.project().join("AGENTS.md").exists());
    let made = machine.run("init --name mine --yes --format json").object();
    assert_eq!((&made["workspace"]["name"], &made["workspace_made"]), (&"mine".into(), &true.into()));
    assert_eq!(made["workspace"]["root_path"], made["root"]);
    assert_eq!(made["agents_md"]["written"], true);
    machine.check(
        "init",
        "",
        "workspace `mine` already has the root ~/project\n\
         ~/project/AGENTS.md already exists and was not changed\n",
    );
    assert_eq!(
        machine.run("workspace list --format json").object()["workspaces"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn every_value_names_its_file() {
    let machine = Machine::new();
    machine.write(
        "project/package.json",
        r#"{"scripts": {"build": "tsc", "test": "echo \"Error: no test specified\" && exit 1", "lint": "eslint .",
            "deploy": "x", "test:`x`": "y"}}"#,
    );
    machine.write("project/tsconfig.json", "{}");
    machine.write("project/pnpm-lock.yaml", "");
    machine.write(
        "project/pyproject.toml",
        "[project]\nrequires-python = '>=3.11'\n[tool.pytest.ini_options]\n[tool.ruff]\n",
    );
    machine.write("project/go.mod", "module example.test/x\n\ngo 1.22\n");
    machine.write(
        // Variable assignments, pattern rules and special targets look like targets to a naive parser. Only
        // `lint` and `test` of the second line are real ones.
        "project/Makefile",
        "test := no\nlint test: deps\n\techo build: x\n%.o: build\n.PHONY: test\n",
    );
    machine.write(
        "project/.github/workflows/ci.yml",
        "jobs:\n  a:\n    steps:\n      - run: sudo apt-get install x\n      - run: go vet ./...\n",
    );
    // The npm placeholder for tests, the deploy script and `apt-get` must not be proposed: they are no
    // commands that an agent should run.
    let said = machine.run("init");
    assert_eq!(
        said.out,
        "# project\n\n\
         ## Languages\n\n- TypeScript (tsconfig.json)\n- Python >=3.11 (pyproject.toml)\n- Go 1.22 (go.mod)\n\n\
         ## Build\n\n- `pnpm run build` (package.json)\n- `go build ./...` (go.mod)\n\n\
         ## Test and check\n\n- `pytest` (pyproject.toml)\n- `go test ./...` (go.mod)\n- `make test` (Makefile)\n\n\
         ## Lint and format\n\n- `pnpm run lint` (package.json)\n- `ruff check` (pyproject.toml)\n\
         - `make lint` (Makefile)\n- `go vet ./...` (.github/workflows/ci.yml)\n"
    );
}

#[test]
fn init_reports_unreadable_manifests() {
    let machine = Machine::new();
    let nothing =
        "no manifest or CI file here says how to build or test, so there is no AGENTS.md to propose\n";
    machine.check("init --yes", "", &format!("{NO_GATEWAY}{nothing}"));
    machine.write("project/package.json", "{");
    let said = machine.run("init --yes");
    assert!(said.err.contains("warning: skipped package.json: EOF while parsing"), "{said:?}");
    assert!(!machine.project().join("AGENTS.md").exists());
    machine.check_code("init nowhere", 2, "", "error: ~/project/nowhere is not a directory\n");
}

#[test]
fn a_terminal_is_asked() {
    let machine = Machine::new();
    machine.write("project/Cargo.toml", MANIFEST);
    let answered = |answer: &str| {
        let script = "command -v script >/dev/null || exit 99; script -qec '\"$foreword\" init' /dev/null";
        let said = finish(machine.shell(script), answer.as_bytes());
        (said.code != Some(99)).then_some(said)
    };
    let Some(said) = answered("n\n") else { return };
    assert_eq!(said.code, Some(1), "{said:?}");
    let asked = machine.tidy(&said.out).contains("Write this to ~/project/AGENTS.md? [y/N]");
    assert!(asked && said.out.contains("`cargo test` (Cargo.toml)"), "{said:?}");
    assert!(!machine.project().join("AGENTS.md").exists());
    assert_eq!(answered("y\n").unwrap().code, Some(0));
    assert_eq!(std::fs::read_to_string(machine.project().join("AGENTS.md")).unwrap(), PROPOSAL);
}
