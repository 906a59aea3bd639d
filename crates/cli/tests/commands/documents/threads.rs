//! `foreword thread`.

use crate::support::Machine;

#[test]
fn threads_are_made_drawn_renamed_moved_and_archived() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("folder create services").done();
    machine.run("folder create api --parent services").done();
    machine.run_with("doc save", "At the root.\n").done();
    machine.run_with("doc save --allow-empty --folder services/api", " \n").done();
    machine.check("thread create 'Fix it'", "ID\n", "created thread `Fix it`\n");
    let thread = machine.run("thread create Deep --folder services/api --mode agent").word();
    machine.check(
        "thread tree",
        "demo\n\
         \x20 AGENTS.md  (version 1, 13 characters)\n\
         \x20 services/\n\
         \x20   api/\n\
         \x20     AGENTS.md  (version 1, 2 characters, draft)\n\
         \x20     Deep  [ID]\n\
         \x20 Fix it  [ID]\n",
        "",
    );
    machine.check(
        // Hidden folders and threads are counted, since a tree that ended silently at its limits would look
        // complete.
        "thread tree --depth 1 --threads 0",
        "demo\n\
         \x20 AGENTS.md  (version 1, 13 characters)\n\
         \x20 services/\n\
         \x20   … 1 more folder\n\
         \x20 … 1 more thread\n",
        "",
    );
    machine.check(
        "thread tree services",
        "services\n\
         \x20 api/\n\
         \x20   AGENTS.md  (version 1, 2 characters, draft)\n\
         \x20   Deep  [ID]\n",
        "",
    );
    let shown = |title: &str, folder: &str| {
        format!(
            "title     {title}\nid        ID\nfolder    {folder}\nmode      agent\ncreated   TIME\nupdated   TIME\n"
        )
    };
    machine.check(&format!("thread get {thread}"), &shown("Deep", "ID"), "");
    machine.check(&format!("thread rename {thread} 'Deep down'"), "", "renamed thread `ID` to `Deep down`\n");
    machine.check("thread move 'Deep down' /", "", "moved thread `Deep down` to `/`\n");
    machine.check("thread get 'Deep down'", &shown("Deep down", "/"), "");
    machine.check("thread move 'Deep down' services", "", "moved thread `Deep down` to `services`\n");
    let line = format!("    Deep down  [{thread}]\n");
    assert!(machine.run("thread tree").done().contains(&line));
    machine.check(&format!("thread archive {thread}"), "", "archived thread `Deep down`\n");
    machine.check(
        &format!("thread get {thread}"),
        &format!("{}archived  TIME\n", shown("Deep down", "ID")),
        "",
    );
    assert!(!machine.run("thread list").done().contains(&line));
}

#[test]
fn the_document_effective_for_a_thread_is_the_nearest_one() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("folder create services").done();
    machine.run("folder create api --parent services").done();
    let thread = machine.run("thread create Deep --folder services/api").word();
    let effective = format!("doc effective --thread {thread}");
    machine.check_code(&effective, 1, "", "no document applies here\n");
    machine.run_with("doc save", "root").done();
    let saved = "version 1, saved TIME by owner\n";
    machine.check(&effective, "root\n", &format!("{saved}inherited from the workspace root\n"));
    machine.run_with("doc save --folder services", "services").done();
    machine.check(&effective, "services\n", &format!("{saved}inherited from folder `services`\n"));
    machine.run_with("doc save --folder services/api", "api").done();
    machine.check(&effective, "api\n", &format!("{saved}of folder `services/api`\n"));
    // Inheritance follows the thread's current folder. A cached document would survive the move.
    machine.run(&format!("thread move {thread} /")).done();
    machine.check(&effective, "root\n", &format!("{saved}of the workspace root\n"));
}

#[test]
fn an_unknown_thread_is_reported() {
    let (machine, _server) = Machine::with_workspace();
    let unknown = "error: there is no thread `t`\nhint: list threads with `foreword thread tree`\n";
    for words in [
        "thread get t",
        "thread rename t x",
        "thread move t /",
        "thread archive t",
        "doc effective --thread t",
    ] {
        machine.check_code(words, 2, "", unknown);
    }
    machine.check_code(
        "thread get ''",
        2,
        "",
        "error: there is no thread ``\nhint: list threads with `foreword thread tree`\n",
    );
    let err = machine.run("doc effective --thread t --folder f").failed(2);
    assert!(err.contains("cannot be used with"), "{err}");
}
