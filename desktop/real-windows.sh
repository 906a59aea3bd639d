# What the scripts with real windows share: a directory, gateways, a screen in memory. To be sourced.
#
# FOREWORD_PROGRAM names the command. Needs Xvfb, xdotool and xclip, and `cargo build --manifest-path desktop/Cargo.toml`,
# or the tests, which build the application too.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
foreword="${FOREWORD_PROGRAM:-$here/../target/debug/foreword}"
window_program="${DESKTOP_PROGRAM:-${CARGO_TARGET_DIR:-$here/target}/debug/foreword-desktop}"
# The command warns of variables that look like its own.
unset FOREWORD_PROGRAM

directory="$(mktemp -d)"
started=()
finish() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$directory"
}
trap finish EXIT

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Tries something until it succeeds.
eventually() {
    local what="$1" tries=600
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "waited in vain for $what"
        sleep 0.1
    done
}

# A gateway on a data directory, with a workspace that has a document.
start_gateway() {
    FOREWORD_DATA="$1" "$foreword" serve --listen 127.0.0.1:0 2>"$1.log" &
    started+=($!)
    eventually "the gateway" test -s "$1/gateway.json"
    FOREWORD_DATA="$1" "$foreword" workspace create shop >/dev/null 2>&1
    printf '# Rules\n' | FOREWORD_DATA="$1" "$foreword" doc save --force >/dev/null 2>&1
}

start_screen() {
    # Mesa's software driver cannot show the 32-bit visual that the extension brings.
    mkfifo "$directory/display"
    Xvfb -displayfd 3 -screen 0 1400x900x24 -extension Composite 3>"$directory/display" 2>/dev/null &
    started+=($!)
    local number
    read -r number <"$directory/display"
    export DISPLAY=":$number"
}

# Opens a window with drafts and settings of its own; `window` is then its number, `process` the process.
open_window() {
    "$window_program" --state "$directory/state-$1" >"$directory/window-$1.log" 2>&1 &
    process=$!
    started+=("$process")
    eventually "window $1" xdotool search --onlyvisible --pid "$process" >/dev/null 2>&1
    window="$(xdotool search --onlyvisible --pid "$process" | head -n 1)"
}

focus() {
    xdotool windowfocus --sync "$1"
}

on_clipboard() {
    timeout 2 xclip -selection clipboard -out 2>/dev/null || true
}

clipboard_is_empty() {
    [ "$(on_clipboard)" = "nothing yet" ]
}

# What the editor of a window shows, through the clipboard.
text_of() {
    focus "$1"
    # It stays to serve what it was given, and must not keep our output open. It takes a moment to be the owner.
    printf 'nothing yet' | xclip -selection clipboard -in >/dev/null 2>&1
    eventually "the clipboard" clipboard_is_empty
    xdotool key --delay 30 ctrl+2 ctrl+a ctrl+c
    sleep 0.3
    on_clipboard
}

# Opens the document of the root; whether it has this text, or else the one of a new workspace.
shows_the_document() {
    focus "$1"
    xdotool key --delay 30 ctrl+1 Escape ctrl+n
    sleep 0.5
    [ "$(text_of "$1")" = "${2:-# Rules}" ]
}

# Takes a picture of the screen if it is requested.
picture() {
    [ -z "${PICTURES:-}" ] || import -window root "$PICTURES/$1.png"
}
