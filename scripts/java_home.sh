#!/bin/sh
# Print the home of a Java 17 or later; fail if there is none.
set -u

is_recent() {
    [ -x "$1/bin/java" ] || return 1
    major=$("$1/bin/java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
    [ -n "$major" ] && [ "$major" -ge 17 ]
}

on_path=$(command -v java 2>/dev/null || true)
if [ -n "$on_path" ]; then
    real=$(readlink -f "$on_path" 2>/dev/null || echo "$on_path")
    on_path=$(dirname "$(dirname "$real")")
fi

for home in "${JAVA_HOME:-}" "$on_path" \
    /usr/lib/jvm/* /usr/java/* /opt/java/* "$HOME"/.sdkman/candidates/java/current \
    /opt/homebrew/opt/openjdk* /usr/local/opt/openjdk* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home; do
    if [ -n "$home" ] && is_recent "$home"; then
        echo "$home"
        exit 0
    fi
done
exit 1
