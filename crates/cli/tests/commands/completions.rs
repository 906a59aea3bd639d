//! `foreword completions`.

use crate::support::{Machine, finish};

#[test]
fn each_shell_gets_a_script_that_knows_the_commands() {
    let machine = Machine::new();
    for (shell, starts) in
        [("bash", "_foreword() {"), ("zsh", "#compdef foreword"), ("fish", "# Print an optspec")]
    {
        let script = machine.run(&format!("completions {shell}")).done();
        assert!(script.starts_with(starts), "{shell}: {}", &script[..80]);
        for word in ["workspace", "effective", "expected-version", "always"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let err = machine.run("completions cobol").failed(2);
    assert!(err.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{err}");
}

#[test]
fn bash_completes_with_its_script() {
    let machine = Machine::new();
    let script = "command -v bash >/dev/null || { echo skipped; exit; }
        \"$foreword\" completions bash >script.bash
        bash -c '. ./script.bash
            COMP_WORDS=(foreword doc ed) COMP_CWORD=2 COMPREPLY=()
            _foreword foreword ed doc
            echo \"${COMPREPLY[@]}\"'";
    let completed = finish(machine.shell(script), b"").done();
    assert!(["edit\n", "skipped\n"].contains(&completed.as_str()), "{completed}");
}
