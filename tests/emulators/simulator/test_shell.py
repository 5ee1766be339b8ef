"""The phone's shell against this machine's POSIX shell, its limits, and garbage."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulators.simulator.phone import Phone, PhoneConfig
from emulators.simulator.shell.run import MAX_COMMAND_CHARS
from emulators.simulator.system_image import GoldenImages

SH = shutil.which("dash") or shutil.which("sh")

SNIPPETS = r"""
echo hello world
echo "a  b"   c
echo 'single $HOME `x`' "double \$x \`" \e\s\c
x=1; echo "$x" '$x' ${x}y "${x}y"
x='a b  c'; echo $x; echo "$x"
x=; echo "[${x:-default}]" "[${x-unset only}]" "[${y-unset}]" "[${y:=assigned}]" $y "[${x:+set}]" "[${y:+set}]"
x=a.tar.gz; echo ${x%.*} ${x%%.*} ${x#*.} ${x##*.} ${#x}
x=/a/b/c; echo ${x##*/} ${x%/*}
echo $((1 + 2 * 3)) $(( (1+2) * 3 )) $((7/2)) $((-7/2)) $((-7%3)) $((1<2)) $((1==2)) $((5&3|8)) $((1?2:3))
x=5; echo $((x+1)) $(($x*2)) $((x > 3 && x < 9))
echo $(echo inner $(echo deep)) `echo back \`echo quoted\``
echo "$(printf 'a\nb\n\n\n')"
true && echo yes || echo no
false && echo yes || echo no
true || echo skipped; echo after
! true; echo $?
! false && echo negated
false; echo $?
(exit 3); echo $?
sh -c 'exit 7'; echo $?
nosuchcommand 2>/dev/null; echo $?
if true; then echo t; fi
if false; then echo t; else echo f; fi
if false; then :; else echo $?; fi; false; for i in 1; do echo $?; done; false; case a in a) echo $?;; esac
false; if false; then :; fi; echo $?; false; for i in; do :; done; echo $?; false; case a in b) :;; esac; echo $?
false; case a in a) ;; esac; echo $?
if false; then echo 1; elif true; then echo 2; else echo 3; fi
for i in 1 2 3; do echo $i; done
for i in a "b c" d; do echo "[$i]"; done
for i in; do echo never; done; echo $?
for i in 1 2 3 4; do if [ $i = 2 ]; then continue; fi; if [ $i = 4 ]; then break; fi; echo $i; done
for i in 1 2; do for j in a b; do [ $j = b ] && continue 2; echo $i$j; done; done
for i in 1 2; do for j in a b; do echo $i$j; break 2; done; done
i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done
i=0; until [ $i -ge 2 ]; do i=$((i+1)); echo $i; done
case abc in a*) echo starts;; *) echo other;; esac
case "x y" in "x y") echo quoted;; esac
case b in a|b) echo either;; esac
case z in a) echo a;; esac; echo $?
case '*' in '*') echo star;; esac
case 5 in [0-9]) echo digit;; esac
case q in [!0-9]) echo other;; esac
echo one; echo two
echo one && echo two; echo three || echo four
{ echo grouped; echo lines; } | cat
( x=inner; echo $x ); echo "[$x]"
x=outer; ( x=inner ); echo $x
echo a b c | while read x y; do echo "$y/$x"; done
printf '1\n2\n3\n' | while read n; do echo "n=$n"; done
echo data > f; cat f
echo one > f; echo two >> f; cat f
cat < f 2>/dev/null || echo missing
echo err >&2
echo err 1>&2 2>/dev/null
{ echo out; echo err >&2; } 2>/dev/null
{ echo out; echo err >&2; } 2>&1 | sort
ls nosuchfile > /dev/null 2>&1 || echo failed
> empty; cat empty; [ -f empty ] && echo made
touch a.txt b.txt c.log; echo *.txt
touch a.txt b.txt; echo *.none; echo "*.txt" '*.txt' \*.txt
touch a1 a2 b1; echo a? [ab]1 a[!1]
mkdir d; touch d/x d/.hidden; echo d/* ; echo d/.h*
mkdir -p p/q p/r; touch p/q/1 p/r/2; echo p/*/?
mkdir d1 d2; touch f; echo */
x='*'; touch zz; echo $x; echo "$x"
touch 'a b'; for f in *; do echo "[$f]"; done
mkdir x; cd x; basename "$(pwd)"; cd ..; [ -d x ] && echo back
[ -d . ] && [ ! -f . ] && echo dir
[ -e nothing ] || echo absent
[ "a" = "a" ] && [ "a" != "b" ] && echo strings
[ 3 -gt 2 ] && [ 2 -le 2 ] && echo numbers
[ -z "" ] && [ -n "x" ] && echo empties
[ a = a -a b = b ] && echo and
[ a = b -o b = b ] && echo or
[ ! a = b ] && echo not
[ ]; echo $?
[ x ]; echo $?
test 1 -eq 1; echo $?
[ 1 -eq x ] 2>/dev/null; echo $?
[ = ] && echo single
[ "(" = "(" ] && echo paren
set -- a 'b c' d; echo $# "$1" "$2"; for x in "$@"; do echo "[$x]"; done
set -- a 'b c'; echo "$*"; echo $*
set -- 1 2 3; shift; echo $1 $#; shift 2; echo $#
set --; for x in "$@"; do echo "[$x]"; done; echo none
set -e; false; echo unreached
set -e; if false; then :; fi; false || true; echo reached
IFS=:; x=a:b::c; for p in $x; do echo "[$p]"; done
IFS=,; x='1, 2,3'; for p in $x; do echo "[$p]"; done
x=$(exit 4); echo $?
x=$(false) || echo failed
x=1 y=2; echo $x$y
x=1 sh -c 'echo $x'; echo "[$x]"
export E=exported; sh -c 'echo $E'
unset HOME2; echo "[${HOME2}]"
sh -c 'echo $0 $1 $#' name first second
eval 'echo evaluated'; x='echo "from variable"'; eval $x
echo a;# comment
echo a # comment
echo a#b '#c'
: ; echo $?
true & wait; echo done
echo "a\\b" 'c\d'
echo "tab	inside"
printf '%s-%s\n' a b c d
printf '%5d|%-5s|%05d|%x\n' 42 ab 7 255
printf '%s\n' "$(printf 'x\ty')"
printf 'a%%b\n'; printf '%c%c\n' hello world
printf '%b\n' 'a\tb'
printf 'no newline'
printf 'b\na\nc\na\n' | sort
printf 'b\na\nc\na\n' | sort -u
printf '10\n9\n2\n' | sort -n; printf '10\n9\n2\n' | sort -rn
printf 'x 3\ny 1\nz 2\n' | sort -k2 -n
printf 'a\na\nb\n' | uniq; printf 'a\na\nb\n' | uniq -d
printf 'a:b:c\nd:e:f\n' | cut -d: -f2; printf 'a:b:c\n' | cut -d: -f1,3; printf 'abcdef\n' | cut -c2-4
printf 'nodelim\n' | cut -d: -f2; printf 'a:b\nnodelim\n' | cut -s -d: -f2
echo hello | tr a-z A-Z; echo hello | tr -d l; echo aabbcc | tr -s abc
echo 'a b' | tr ' ' '\n'
printf '1\n2\n3\n4\n' | head -2; printf '1\n2\n3\n4\n' | tail -n 2; printf '1\n2\n3\n' | tail -n +2
printf '1\n2\n3\n' | head -n 1; printf 'abcdef' | head -c 3; echo
printf 'a\nb\n' | wc -l | tr -d ' '
printf 'apple\nbanana\ncherry\n' | grep an; echo $?
printf 'apple\n' | grep zzz; echo $?
printf 'Apple\napple\n' | grep -i APPLE; printf 'a\nb\n' | grep -v a; printf 'a\nb\na\n' | grep -c a
printf 'a1\nb2\nc\n' | grep -E '[0-9]+$'; printf 'a.b\naxb\n' | grep -F a.b; printf 'foo bar\n' | grep -o 'o*'
printf 'a+b\naab\n' | grep 'a+b'; printf 'aab\n' | grep -E 'a+b'; printf 'x(y)\n' | grep '(y)'
printf 'key=value\n' | grep -q key && echo found
printf '1\n2\n3\n' | grep -n 2; printf 'ab\nabc\n' | grep -x ab; printf 'a b\nab\n' | grep -w a
printf 'foo\nbar\n' | grep -e foo -e bar
printf 'x\ny\nz\n' | grep -A1 y; printf 'x\ny\nz\n' | grep -B1 y
printf '[x]\n' | grep '\[x\]'; printf 'a*b\n' | grep 'a\*b'; printf 'tab\n' | grep '^t.b$'
printf 'aa bb\n' | sed 's/a/x/'; printf 'aa bb\n' | sed 's/a/x/g'; printf 'a/b\n' | sed 's|/|-|'
printf '1\n2\n3\n' | sed -n 2p; printf '1\n2\n3\n' | sed 2d; printf '1\n2\n3\n' | sed '$d'
printf '1\n2\n3\n4\n' | sed -n '2,$p'; printf '1\n2\n3\n4\n' | sed '2,3d'; printf '1\n2\n3\n' | sed -n '/2/,$p'
printf 'hello world\n' | sed 's/\(hello\) \(world\)/\2 \1/'; printf 'ab12\n' | sed -E 's/([a-z]+)([0-9]+)/\2\1/'
printf 'x\n' | sed 's/x/[&]/'; printf 'a\nb\n' | sed '/a/d'; printf 'a\nb\n' | sed -e s/a/1/ -e s/b/2/
printf 'a a a\n' | sed 's/a/b/2'; printf 'q\n' | sed 's/z*/-/'; printf 'A\n' | sed 's/a/x/I'
printf '3\n1\n' | xargs echo n; printf 'a b c' | xargs -n1 echo; printf 'x\ny\n' | xargs -I{} echo '<{}>'
seq 3; seq 2 4; seq 1 2 5; seq -s, 3
basename /a/b.txt; basename /a/b.txt .txt; dirname /a/b.txt; dirname file; basename /
expr 1 + 2; expr 6 / 4; expr 2 \* 3; expr abc : 'a\(.*\)'
expr 1 = 2; echo $?
mkdir -p m/n; touch m/n/f; find m | sort; find m -type f; find m -name 'n' -type d; find m -maxdepth 1 | sort
mkdir t; touch t/a t/b; find t -type f -delete; find t; rm -r t; [ -e t ] || echo gone
mkdir e; touch e/1 e/2; find e -type f -exec echo file {} \; | sort; find e -type f -exec echo {} + | wc -l | tr -d ' '
mkdir o; touch o/a.txt o/b.log; find o -name '*.txt' -o -name '*.log' | sort; find o ! -name '*.txt' -type f
echo x > s; cp s t; mv t u; cat u; rm s; ls
mkdir a; echo 1 > a/f; cp -r a b; cat b/f; cp -a a/. c 2>/dev/null || { mkdir c; cp -a a/. c; }; ls c
mkdir a b; touch a/x; mv a b; ls b; ls b/a
rm nothing 2>/dev/null; echo $?; rm -f nothing; echo $?
mkdir a; mkdir a 2>/dev/null; echo $?; mkdir -p a; echo $?; rmdir a; ls
mkdir a; touch a/f; rmdir a 2>/dev/null; echo $?
echo abc | md5sum | cut -c1-32; printf '' | sha256sum | cut -c1-16
echo aGVsbG8= | base64 -d; echo; printf hello | base64
printf 'a\nb\n' | tee copy | wc -l | tr -d ' '; cat copy
echo out | cat - ; cat nosuch 2>/dev/null; echo $?
printf 'b\na\n' > f; sort f; sort -r f; sort -o f f; cat f
f=name.txt; echo ${f%.txt}.md "${f#na}"
a=1; b=a; eval echo \$$b
while true; do echo once; break; done
if [ -f "/nope" ]; then echo Exists; else echo 'Does not exist'; fi
echo $(( 010 + 0x10 ))
(echo "${undefined?}") 2>/dev/null || echo failed
exit 5
echo before; exit; echo after
(echo sub; exit 2); echo $?
true | false; echo $?; false | true; echo $?
echo a | cat | cat | tr a b
[ -s nofile ]; echo $?
command -v nosuchthing || echo none
cd /nosuchdir 2>/dev/null; echo $?
read x < /dev/null; echo $? "[$x]"
echo 'a:b' | { IFS=: read x y; echo "$y$x"; }
printf 'a\\b\n' | { read -r x; echo "$x"; }
readonly r=1; echo $r
: ${d:=def}; echo $d
touch f; chmod 644 f; chmod u+x,g-r,o=w f; stat -c %a f; chmod a+r f; stat -c '%a %A' f; chmod -x f; stat -c %a f
mkdir d; chmod 700 d; chmod -R go+X d; stat -c '%a %F' d; touch e; stat -c '%s %F %n' e; echo x > e; stat -c '%s %F' e
touch -d '2020-01-02 03:04:05' f; stat -c %Y f; touch -d @1000000000 f; stat -c %Y f; touch -t 202001020304.05 f; stat -c %Y f
touch -r nosuch f 2>/dev/null || echo failed; touch -c nofile; [ -e nofile ] || echo none
touch -d @1000 old; touch -d @2000 new; [ new -nt old ] && [ old -ot new ] && [ old -ef ./old ] && echo ages; find . -newer old -type f
echo 12345 > f; truncate -s 3 f; cat f; echo; truncate -s +2 f; wc -c < f; truncate -s 0 f; [ -s f ] || echo empty
printf abcdefgh > f; dd if=f bs=2 skip=1 count=2 2>/dev/null; echo; dd if=f of=g bs=4 count=1 2>/dev/null; cat g; echo
printf abcdefgh | dd bs=3 count=1 2>/dev/null; echo; dd if=/dev/zero bs=4 count=2 2>/dev/null | wc -c
mkdir s; touch s/e; echo 12345 > s/f; find s -empty; find s -size -2c -type f; find s -size +3c -type f; find s -perm 777
mkdir -p a/b a/c; touch a/b/x a/c/y; find a -name b -prune -o -type f -print; find a -path 'a/c/*'; find a -depth | tail -n 1
mkdir -p a/b; touch a/b/F; find a -iname f; find a \( -name F -o -name none \) -print; find a -mindepth 2; find a -type d -name 'a*'
touch x; find . -name x -exec sh -c 'echo got $0' {} \;; find nosuch 2>/dev/null || echo missing; find . -name x -not -type d
printf 'a\nb\n' | sed 'a\after'; printf 'a\n' | sed 'i\before'; printf 'a\nb\n' | sed '1c\changed'; printf 'abc\n' | sed y/abc/xyz/
printf 'a\nb\n' | sed -n '='; printf '1\n2\n3\n' | sed 2q; printf 'a\nb\n' | sed '/a/!d'; printf 'a\nb\nc\n' | sed '2,3s/^/> /'
echo x > f; sed -i s/x/y/ f; cat f; printf 'a.b\n' | sed 's/\./-/'; printf 'aXb\n' | sed 's/[[:upper:]]/_/'; printf 'ab' | sed s/a/b/
printf 'tab\tx\n' | sed 's/\t/ /'; printf 'one two\n' | sed 's/\w*/<&>/'; printf 'aab\n' | sed 's/a\{2\}/x/'; printf 'a|b\n' | sed 's/a|b/x/'
printf 'hello\n' | tr -c 'a-z\n' _; printf 'a1b2\n' | tr -d '[:digit:]'; printf 'a-b\n' | tr -d -; printf 'x  y\n' | tr -s ' '; echo hi | tr '[:lower:]' '[:upper:]'
printf 'ab\ncd\n' | rev; printf '1\n2\n' | tac; printf 'a\nb\n' | cat -n; printf 'a b\nc d\n' | wc -w
printf '%e\n' 12345.678; printf '%.2f %g\n' 3.14159 0.5; printf '%+d % d\n' 5 5; printf '%*d|\n' 5 42; printf '%o %X\n' 8 255; printf '%i\n' 0x10
printf '%s %s\n' one; printf '\101\n'; printf '%s\n'; printf '%d\n' "'A"; printf 'x\cy' ; echo; printf '%.3s|\n' abcdef; printf '%10.2s|\n' abc
printf '%d\n' nonsense 2>/dev/null; echo $?
printf 'b 2\na 1\n' | sort -k1,1; printf 'a:3\nb:1\n' | sort -t: -k2 -n; printf 'B\na\n' | sort -f; printf '1\n1\n2\n' | sort -u -n
printf 'a\nA\nb\n' | uniq -i; printf 'a\na\nb\n' | uniq -c | tr -s ' '; printf 'a\na\nb\n' | uniq -u; printf 'b\na\n' | sort -c 2>/dev/null || echo unsorted
printf 'a b c\n' | cut -d' ' -f2-; printf 'a,b,c\n' | cut -d, -f-2; printf 'abc\n' | cut -c1,3; printf 'abc\n' | cut -b2
mkdir r; echo needle > r/a; echo hay > r/b; grep -r needle r; grep -l needle r/a r/b; grep -L needle r/a r/b; grep -h needle r/a r/b; grep -c . r/a r/b
printf 'a\nb\nc\nd\n' | grep -C1 b; printf 'a\na\na\n' | grep -m 2 a; printf 'x\n' | grep -s y nofile; echo $?; grep x nofile 2>/dev/null; echo $?
printf 'abc\n' | grep -E 'a(b|x)c'; printf 'a{2}\n' | grep -F 'a{2}'; printf 'aa\n' | grep -E 'a{2}'; printf 'ab\n' | grep '^\(a\)b$'; printf 'a^b\n' | grep 'a^b'
echo 'a  b "c d"' | xargs; printf 'a\0b\0' | xargs -0 -n1 echo; printf '' | xargs -r echo never; printf 'a\nb\nc\n' | xargs -n2 echo; echo x | xargs false; echo $?
mkdir -p d/e; cp -r d f; cp -r d f; ls f; touch x y; cp x y f; ls f; mv x y f/d; ls f/d; cp nofile x 2>/dev/null || echo failed
touch a b; cp a b nodir 2>/dev/null || echo failed; mkdir n; cp n m 2>/dev/null || echo skipped; mv n m; ls; mv nofile x 2>/dev/null || echo gone
mkdir -p p/q; rmdir -p p/q; ls; mkdir x; rm x 2>/dev/null || echo directory; rm -r x; rm -rf nope; ls | wc -l
realpath /; dirname /a/b/ a /; basename -a x/y z/w; basename -s .c a.c; basename a/b/
echo "$(basename "$PWD" | wc -l)"; test -d "$PWD" && echo there; OLD=$PWD; cd /; cd - > /dev/null; [ "$PWD" = "$OLD" ] && echo back
timeout 5 echo in time; nice echo nice; env X=5 sh -c 'echo $X'; env -i sh -c 'echo [$X]'; nohup echo run 2>/dev/null
test 1 -lt 2 -a 2 -lt 3 && echo both; test \( a = b \) -o c = c && echo or; [ \( a = a \) ] && echo paren; test ! -f none && echo absent
expr 5 - 3; expr 7 % 3; expr 3 \< 5; expr a \< b; expr a \| b; expr 0 \| b; expr a \& 0; expr \( 1 + 2 \) \* 3; expr 1 / 0 2>/dev/null || echo zero
seq 5 -2 1; seq -w 8 10; seq 1 0; seq 0.5 0.5 1.5
printf 'first line\nsecond\n' > f; { read a; read b c; } < f; echo "$a/$b/$c"; while read -r l; do echo "<$l>"; done < f
printf 'no newline' > f; while read l; do echo never; done < f; echo "[$l]"
x=5; x=$x$x; echo $x; x="$x y" ; echo "${x% *}|${x#* }"; y='a*b'; echo "${y#a\*}"; z=aXbXc; echo ${z%X*} ${z%%X*} ${z#*X} ${z##*X}
echo ${x:-a b} "${x:-a b}"; unset x; echo ${x:-a   b}; echo "${x:-a   b}"; echo ${x:-"a   b"}; for w in ${x:-p q}; do echo "[$w]"; done
type nosuchcommand > /dev/null 2>&1 || echo unknown; alias x=y; umask > /dev/null; ulimit > /dev/null; echo ok
set -u; echo ${defined-no}; (echo $undefined) 2>/dev/null || echo unset
printf 'echo sourced $1; v=5\n' > s.sh; . ./s.sh; echo $v
"""


MULTILINE = (
    'cat <<EOF\ntext $((1+1)) "quoted"\nEOF',
    "cat <<'EOF'\nraw $x `y`\nEOF",
    "cat <<-EOF\n\ttabs stripped\n\tEOF",
    "x=v; cat <<EOF | tr a-z A-Z\nvalue is $x\nEOF",
    "echo first \\\n  second",
    'echo "line\nbreak"',
    "x=$(cat <<EOF\ninside\nEOF\n); echo $x",
    "if true\nthen\n\n echo a # note\n\nelse\n echo b\nfi",
    "for i in 1 \\\n 2\ndo\n echo $i\ndone",
    "case x in\n a) echo a ;;\n (x)\n echo x\n ;;\nesac",
    "echo a |\n\n cat &&\n echo b",
)


@pytest.fixture(scope="module")
def base(golden: GoldenImages) -> Phone:
    return Phone(PhoneConfig(), apps=(), golden=golden)


def _ours(phone: Phone, script: str) -> tuple[bytes, int]:
    phone.state.files.make_dirs("/work")
    snapshot = phone.snapshot()
    try:
        output = phone.shell(f"cd /work\n{script}")
    finally:
        phone.restore(snapshot)
    return output.stdout, output.exit_code


def _theirs(folder: Path, script: str) -> tuple[bytes, int]:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"}
    result = subprocess.run(
        [str(SH), "-c", script], cwd=folder, env=environment, capture_output=True, timeout=20, check=False
    )
    return result.stdout, result.returncode


@pytest.mark.parametrize("script", [*SNIPPETS.strip("\n").split("\n"), *MULTILINE])
def test_says_what_the_posix_shell_says(base: Phone, tmp_path: Path, script: str) -> None:
    assert _ours(base, script) == _theirs(tmp_path, script)


# --- random scripts --------------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    [
        "a",
        "'b c'",
        '"$x"',
        "$x",
        "${y:-z}",
        "x*",
        '"*"',
        "$(echo s t)",
        '"$(echo s  t)"',
        "$((1+2))",
        "\\$x",
        "''",
        "$?",
    ]
)
_SIMPLE = st.one_of(
    st.lists(_WORDS, min_size=0, max_size=3).map(lambda words: " ".join(["echo", *words])),
    st.sampled_from(
        [
            "true",
            "false",
            "x=1",
            "x='p  q'",
            "y=$x",
            "[ $x = 1 ]",
            '[ -n "$y" ]',
            "echo out > f",
            "cat f",
            "echo m >> f",
        ]
    ),
)
_SCRIPTS = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" && ", " || ", "; ", "\n"]), inner).map("".join),
        st.tuples(inner, st.sampled_from(["cat", "tr a-z A-Z", "grep -c .", "sort", "head -n 1"])).map(
            lambda pair: f"{{ {pair[0]}\n}} | {pair[1]}"
        ),
        inner.map(lambda body: f"( {body}\n)"),
        inner.map(lambda body: f"! {{ {body}\n}}"),
        st.tuples(inner, inner, inner).map(lambda three: "if {}\nthen {}\nelse {}\nfi".format(*three)),
        st.tuples(st.lists(_WORDS, max_size=3), inner).map(
            lambda pair: f"for x in {' '.join(pair[0])}; do {pair[1]}\ndone"
        ),
        st.tuples(_WORDS, inner).map(lambda pair: f"case {pair[0]} in a|p*) {pair[1]}\n;; *) echo other;; esac"),
        inner.map(lambda body: f'y=$( {body}\n); echo "$y"'),
    ),
    max_leaves=8,
)


@given(script=_SCRIPTS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_scripts_behave_as_in_the_posix_shell(
    base: Phone, tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    folder = tmp_path_factory.mktemp("sh")
    assert _ours(base, script) == _theirs(folder, script)


# --- garbage and limits ----------------------------------------------------------------------------------------------

_TOKENS = """
if then fi for in do done while case esac { } ( ) | && || ; & $( ` ' " $(( )) ${ > >> < << 2>&1 \\ * [ ] ! ~ echo x=1 $x
cat ls /sdcard -l find -exec {} + é sed s/a/b/ am start -n pm list input tap settings put content query --uri dumpsys -1
test expr printf %d %s date +%Y sqlite3 select grep -E xargs sort -k
"""
_FRAGMENTS = st.sampled_from([*_TOKENS.split(), "\n", " ", "\0", "\udcff"])


@given(pieces=st.lists(st.one_of(_FRAGMENTS, st.text(max_size=5)), max_size=14), glue=st.sampled_from(["", " "]))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_answered_and_the_phone_lives_on(base: Phone, pieces: list[str], glue: str) -> None:
    snapshot = base.snapshot()
    base.shell(glue.join(pieces), stdin=b"line\n")
    base.restore(snapshot)
    assert base.shell("echo alive").stdout == b"alive\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("while true; do :; done", "200000 steps"),
        ("x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; done", "64 MiB"),
        ("while true; do cat /big; done", "64 MiB"),
        ("eval 'x=1; " + "y=$(echo $x)" * 3 + "'; " + "( " * 60 + "echo deep" + " )" * 60, "nested deeper"),
        ("echo 'sh /loop' > /loop; sh /loop", "48 levels"),
    ],
)
def test_what_would_never_end_is_stopped_and_says_why(base: Phone, command: str, words: str) -> None:
    base.state.files.write("/big", bytes(1024 * 1024))
    started = time.monotonic()
    output = base.shell(command)
    assert words in output.stderr.decode()
    assert output.exit_code in {1, 137}
    assert time.monotonic() - started < 20


def test_a_huge_command_line_is_refused(base: Phone) -> None:
    output = base.shell("echo " + "x" * MAX_COMMAND_CHARS)
    assert output.exit_code == 1
    assert b"longer than" in output.stderr


@pytest.mark.parametrize("pattern", ["*" * 50 + "x", "[a-z" * 40, "?*" * 60])
def test_patterns_take_no_exponential_time(base: Phone, pattern: str) -> None:
    started = time.monotonic()
    base.shell(f"case {'a' * 200} in {pattern}) echo hit;; esac")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("command", "message", "exit_code"),
    [
        ("nosuch", "/system/bin/sh: nosuch: inaccessible or not found", 127),
        ("cat /nope", "cat: /nope: No such file or directory", 1),
        ("cd /data; cat nope", "cat: nope: No such file or directory", 1),
        ("ls /sdcard/nope", "ls: /sdcard/nope: No such file or directory", 1),
        ("echo x > /nope/f", "/system/bin/sh: can't create /nope/f: No such file or directory", 1),
        ("echo 'open", "/system/bin/sh: no closing quote '", 1),
        ("if true; then", "/system/bin/sh: syntax error: unexpected end of file", 1),
        (")", "/system/bin/sh: syntax error: unexpected ')'", 1),
        ("/data", "/system/bin/sh: /data: can't execute: Permission denied", 126),
    ],
)
def test_errors_read_as_on_android(base: Phone, command: str, message: str, exit_code: int) -> None:
    output = base.shell(command)
    assert output.stderr.decode().rstrip("\n") == message
    assert output.exit_code == exit_code


def test_adbutils_exit_code_suffix(base: Phone) -> None:
    assert base.shell("false; echo X4EXIT:$?").stdout == b"X4EXIT:1\n"
    assert base.shell("ls / | grep -q data; echo X4EXIT:$?").stdout == b"X4EXIT:0\n"


def test_binary_data_passes_through_pipes_and_files(base: Phone) -> None:
    data = bytes(range(256)) * 4
    output = base.shell("cat > /data/blob; cat /data/blob | cat", stdin=data)
    assert output.stdout == data
    assert base.state.files.read("/data/blob") == data


def test_scripts_run_from_files(base: Phone) -> None:
    base.state.files.write("/data/local/tmp/s.sh", b'#!/system/bin/sh\necho "$0 $1 $#"\nexit 4\n')
    output = base.shell("sh /data/local/tmp/s.sh one; echo $?; /data/local/tmp/s.sh two")
    assert output.stdout == b"/data/local/tmp/s.sh one 1\n4\n/data/local/tmp/s.sh two 1\n"
    assert output.exit_code == 4
