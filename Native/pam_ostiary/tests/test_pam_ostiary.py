"""pam_ostiary.so in a program of its own, against a daemon that each test scripts. Native/pam_ostiary/test builds what this needs and runs it."""

import errno
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from scripted_daemon import (
    ASK, AUTHENTICATE, CANCELLED, CHANGE, DONE, ERROR, HEAD, HELLO, INFO, MAY_ASK, NO, OK, OPEN, RESET, SILENT, TERMINAL, TYPED, UNAVAILABLE, WAIT,
    ScriptedDaemon, message, of_another_user,
)

BUILT = os.environ["PAM_OSTIARY_BUILT"]
# plain, sanitized, threads or valgrind.
KIND = os.environ["PAM_OSTIARY_KIND"]
SOCKET = f"{BUILT}/socket"
MODULE, STRANGERS, TYPED_MODULE = f"{BUILT}/pam_ostiary.so", f"{BUILT}/strangers/pam_ostiary.so", f"{BUILT}/pam_typed.so"
CONFIGURATION = f"{BUILT}/pam.d"
IS_ROOT = os.geteuid() == 0

SUCCESS, AUTH_ERR, UNAVAIL, IGNORE = 0, 7, 9, 25
PAM_SILENT = 0x8000
SECRET = "correct horse battery"
# The heap writes over the beginning of what is freed. So the search is for the end of a longer secret.
END_OF_SECRET = "the end of the secret"
LONG_SECRET = "correct horse battery staple " * 8 + END_OF_SECRET

# IGNORE alone decides nothing, so these lines make a result of it.
TELLS_IGNORE = "[ignore=ok default=bad]"
# A change is called twice, and the first call must succeed: here every other result makes it fail.
ONLY_IGNORE = "[ignore=ignore default=bad]"
SERVICES = {
    "other": "auth required pam_deny.so\n",
    "sign-in": f"auth required {MODULE}\n",
    "no-ask": f"auth required {MODULE} no-ask\n",
    "no-terminal": f"auth required {MODULE} no-terminal debug\n",
    "remote": f"auth required {MODULE} remote\n",
    "no-ask-remote": f"auth required {MODULE} no-ask remote\n",
    # As pam-auth-update writes them where the profile is on.
    "profile": f"auth [success=2 default=ignore] {MODULE}\nauth [success=1 default=ignore] {TYPED_MODULE}\n"
               "auth requisite pam_deny.so\nauth required pam_permit.so\n",
    "profile-remote": f"auth [success=2 default=ignore] {MODULE} remote\nauth [success=1 default=ignore] {TYPED_MODULE}\n"
                      "auth requisite pam_deny.so\nauth required pam_permit.so\n",
    "misspelt": f"auth required {MODULE} stach\nsession {TELLS_IGNORE} {MODULE} opne\n",
    "misspelt-login": f"auth required {TYPED_MODULE}\nauth optional {MODULE} stash\nsession {TELLS_IGNORE} {MODULE} opne\n",
    "misspelt-change": f"password required {TYPED_MODULE}\npassword {ONLY_IGNORE} {MODULE} chagne\n",
    "strangers": f"auth required {STRANGERS}\n",
    "sufficient": f"auth sufficient {MODULE}\nauth required {TYPED_MODULE}\n",
    "alone": f"auth sufficient {MODULE}\n",
    "stash": f"auth {TELLS_IGNORE} {MODULE} stash\nsession {TELLS_IGNORE} {MODULE}\n",
    "login": f"auth required {TYPED_MODULE}\nauth optional {MODULE} stash\nsession {TELLS_IGNORE} {MODULE}\n",
    "change": f"password required {TYPED_MODULE}\npassword {ONLY_IGNORE} {MODULE}\n",
    "reset": f"password required {TYPED_MODULE} no-old\npassword {ONLY_IGNORE} {MODULE}\n",
    "no-new": f"password required {TYPED_MODULE} no-new\npassword {ONLY_IGNORE} {MODULE}\n",
}


def masked(secret):
    return bytes(byte ^ 0x5A for byte in secret.encode()).hex()


def types(secret, after=""):
    return f"answer={after}={masked(secret)}"


GIVES_UP = "answer=!"


class Told(list):
    """What the program told, a dictionary for each line."""

    def results(self, call="authenticate"):
        return [each["result"] for each in self if each.get("call") == call]

    def seconds(self, call="authenticate"):
        return [each["milliseconds"] / 1000 for each in self if each.get("call") == call][0]

    def shown(self):
        return [each["shown"] for each in self if "shown" in each]


class Tests(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        os.makedirs(CONFIGURATION, exist_ok=True)
        for name, lines in SERVICES.items():
            with open(f"{CONFIGURATION}/{name}", "w") as file:
                file.write(lines)

    def start(self, service, *steps, user="alice", program=f"{BUILT}/drive", under=None, **options):
        reading, writing = os.pipe()
        prefix = []
        if KIND == "valgrind":
            prefix = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", f"--log-file={BUILT}/valgrind-%p"]
        command = prefix + [program, str(writing), CONFIGURATION, service, user, *steps]
        started = subprocess.Popen(
            command if under is None else under(command), pass_fds=[writing], stderr=subprocess.PIPE,
            **({"stdin": subprocess.DEVNULL} | options),
        )
        os.close(writing)
        started.told = open(reading, errors="replace")
        return started

    def finish(self, started):
        with started.told as file:
            told = Told(json.loads(line) for line in file)
        _, errors = started.communicate(timeout=60)
        log = f"{BUILT}/valgrind-{started.pid}"
        if os.path.exists(log):
            with open(log) as file:
                errors += file.read().encode()
        self.assertEqual((started.returncode, errors.decode()), (0, ""))
        self.assertEqual([each for each in told if "broken" in each], [])
        self.assertEqual(told[-1], {"ended": True})
        return told

    def run_program(self, service, *steps, **options):
        return self.finish(self.start(service, *steps, **options))

    def play(self, script, service, *steps, connections=1, **options):
        with ScriptedDaemon(SOCKET, script, connections):
            return self.run_program(service, *steps, **options)

    def expect(self, script, result, service="sign-in", *steps, within=1.0, least=0.0, **options):
        """One call of auth: its exact result, and its time."""
        told = self.play(script, service, *steps, "authenticate", **options)
        self.assertEqual(told.results(), [result])
        self.expect_time(told, least, within)
        return told

    def expect_no_connection(self, service, *steps):
        """No connection at all: the socket leads nowhere, and an attempt to connect would be seen in the queue."""
        with ScriptedDaemon(SOCKET, None, 0) as daemon:
            told = self.run_program(service, *steps)
            daemon.listener.settimeout(0)
            with self.assertRaises(BlockingIOError):
                daemon.listener.accept()
        return told

    def expect_time(self, told, least, most, call="authenticate"):
        self.assertGreaterEqual(told.seconds(call), least)
        # Valgrind takes its time for each new instruction.
        self.assertLess(told.seconds(call), most + (2 if KIND == "valgrind" else 0))


class DecisionTests(Tests):
    def answer(self, *messages):
        def script(module):
            self.assertEqual(module.begin(), (AUTHENTICATE, "alice", "sign-in", "", "", MAY_ASK))
            for each in messages:
                module.raw(each)
            module.expect_the_end()
        return script

    def test_ok_is_success(self):
        self.expect(self.answer(message(OK)), SUCCESS)

    def test_no_is_an_authentication_error(self):
        self.expect(self.answer(message(NO)), AUTH_ERR)

    def test_unavailable_leaves_it_to_the_next_line(self):
        self.expect(self.answer(message(UNAVAILABLE, 3)), UNAVAIL)

    def test_waits_keep_the_daemon_alive(self):
        def script(module):
            module.begin()
            for _ in range(3):
                time.sleep(1)
                module.send(WAIT)
            module.send(OK)
        self.expect(script, SUCCESS, least=2.9, within=3.6)

    def test_texts_are_shown(self):
        told = self.expect(self.answer(message(INFO, "Touch the sensor"), message(ERROR, "Try again"), message(OK)), SUCCESS)
        self.assertEqual([(each["shown"], each["style"]) for each in told if "shown" in each], [("Touch the sensor", 4), ("Try again", 3)])

    def test_a_silent_program_shows_no_texts(self):
        def script(module):
            self.assertEqual(module.begin()[-1], MAY_ASK | SILENT)
            for each in (message(INFO, "Touch"), message(ERROR, "Again"), message(OK)):
                module.raw(each)
        told = self.play(script, "sign-in", f"authenticate={PAM_SILENT}")
        self.assertEqual((told.results(), told.shown()), ([SUCCESS], []))

    def test_a_format_in_a_text_is_text(self):
        told = self.expect(self.answer(message(INFO, "%s%n%x"), message(OK)), SUCCESS)
        self.assertEqual(told.shown(), ["%s%n%x"])

    def test_the_names_of_the_program_come_along(self):
        def script(module):
            self.assertEqual(module.begin(), (AUTHENTICATE, "bob", "no-ask-remote", "host.example", "ssh", 0))
            module.send(OK)
        self.expect(script, SUCCESS, "no-ask-remote", "item=rhost:host.example", "item=tty:ssh", user="bob")

    def test_a_name_that_is_too_long_is_not_cut(self):
        def script(module):
            module.send(HELLO)
            module.expect_the_end()
        self.expect(script, UNAVAIL, "remote", "item=rhost:" + "h" * 2100)

    def test_the_longest_message_arrives_whole(self):
        # Header, four lengths, flags, and the other names.
        longest = 2048 - 4 - 8 - 1 - len("alice" + "remote")
        def script(module):
            self.assertEqual(module.begin()[3], "h" * longest)
            module.send(OK)
        self.expect(script, SUCCESS, "remote", "item=rhost:" + "h" * longest)
        def refused(module):
            module.send(HELLO)
            module.expect_the_end()
        self.expect(refused, UNAVAIL, "remote", "item=rhost:" + "h" * (longest + 1))

    def test_an_unknown_option_makes_the_line_do_nothing(self):
        told = self.run_program("misspelt", "authenticate", "open")
        self.assertEqual((told.results(), told.results("open")), ([UNAVAIL], [IGNORE]))

    def test_setcred_succeeds_after_a_sufficient_line(self):
        for service in ("sufficient", "alone"):
            told = self.play(lambda module: (module.begin(), module.send(OK)), service, "authenticate", "setcred")
            self.assertEqual((told.results(), told.results("setcred")), ([SUCCESS], [SUCCESS]))

    def test_setcred_alone_grants_nothing(self):
        told = self.play(lambda module: (module.begin(), module.send(NO)), "sign-in", "authenticate", "setcred")
        self.assertEqual(told.results(), [AUTH_ERR])

    def test_the_password_serves_after_each_refusal(self):
        for kind in (NO, UNAVAILABLE):
            last = message(kind, *([1] if kind == UNAVAILABLE else []))
            self.expect(lambda module: (module.begin(), module.raw(last)), SUCCESS, "sufficient", types("password"))


class BrokenDaemonTests(Tests):
    def test_no_socket(self):
        if os.path.exists(SOCKET):
            os.unlink(SOCKET)
        told = self.run_program("sign-in", "authenticate")
        self.assertEqual(told.results(), [UNAVAIL])
        self.expect_time(told, 0, 0.5)

    def test_dead(self):
        with ScriptedDaemon(SOCKET, None, 0):
            pass
        told = self.run_program("sign-in", "authenticate")
        self.assertEqual(told.results(), [UNAVAIL])
        self.expect_time(told, 0, 0.5)

    def test_full(self):
        with ScriptedDaemon(SOCKET, None, 0) as daemon:
            daemon.listener.listen(0)
            waiting = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            waiting.connect(SOCKET)
            told = self.run_program("sign-in", "authenticate")
            waiting.close()
        self.assertEqual(told.results(), [UNAVAIL])
        self.expect_time(told, 0.9, 1.4)

    def test_stopped_before_the_greeting(self):
        def script(module):
            # The request comes after the greeting, so nothing is there for a daemon that does not serve.
            module.expect_the_end()
        self.expect(script, UNAVAIL, least=1.9, within=2.5)

    def test_stopped_after_the_greeting(self):
        self.expect(lambda module: (module.begin(), module.expect_the_end()), UNAVAIL, least=1.9, within=2.5)

    def test_stopped_in_the_midst(self):
        def script(module):
            module.begin()
            module.send(WAIT)
            time.sleep(1)
            module.send(WAIT)
            module.expect_the_end()
        self.expect(script, UNAVAIL, least=2.9, within=3.5)

    def test_stopped_process(self):
        # A process and not a thread, stopped by the kernel: what a connection of systemd's socket meets.
        program = "import sys; sys.path.insert(0, sys.argv[2]); from scripted_daemon import *; import time\n" \
            "with ScriptedDaemon(sys.argv[1], lambda m: (m.begin(), time.sleep(60))): print('ready', flush=True)"
        daemon = subprocess.Popen([sys.executable, "-c", program, SOCKET, os.path.dirname(__file__)], stdout=subprocess.PIPE)
        self.addCleanup(daemon.communicate)
        self.addCleanup(daemon.kill)
        daemon.stdout.readline()
        os.kill(daemon.pid, signal.SIGSTOP)
        told = self.run_program("sign-in", "authenticate")
        self.assertEqual(told.results(), [UNAVAIL])
        self.expect_time(told, 1.9, 2.5)

    def test_slow_but_in_time(self):
        def script(module):
            time.sleep(1.5)
            module.begin()
            time.sleep(1.5)
            module.send(OK)
        self.expect(script, SUCCESS, least=2.9, within=3.5)

    def test_slow_and_too_late(self):
        def script(module):
            time.sleep(2.5)
            module.send(HELLO)
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            self.expect(script, UNAVAIL, least=1.9, within=2.5)

    def test_hung_up_before_the_greeting(self):
        self.expect(lambda module: None, UNAVAIL, within=0.5)

    def test_hung_up_after_the_request(self):
        self.expect(lambda module: module.begin(), UNAVAIL, within=0.5)

    def test_endless_waits_end(self):
        # Five minutes of the module's clock in three seconds.
        def script(module):
            module.begin()
            with self.assertRaises((BrokenPipeError, ConnectionResetError)):
                while True:
                    module.send(WAIT)
                    time.sleep(0.02)
        self.expect(script, UNAVAIL, "sign-in", "speed=100", least=2.9, within=3.5)

    def test_the_number_of_messages_is_limited(self):
        def script(waits):
            def serve(module):
                module.begin()
                with self.assertRaises((BrokenPipeError, ConnectionResetError)) if waits > 510 else self.subTest():
                    for _ in range(waits):
                        module.send(WAIT)
                    module.send(OK)
                    module.expect_the_end()
                    if waits > 510:
                        raise BrokenPipeError
            return serve
        self.expect(script(510), SUCCESS)
        self.expect(script(511), UNAVAIL)

    def test_ok_counts_only_after_the_request(self):
        def script(module):
            module.raw(message(OK))
            module.expect_the_end()
        self.expect(script, UNAVAIL, within=0.5)

    @unittest.skipIf(KIND == "valgrind", "takes minutes there")
    def test_messages_that_do_not_fit(self):
        texts = ["", "x", "x" * 2043]
        wrong = [
            b"\0", b"ok", HEAD, b"OP\x02" + bytes([OK]), b"OQ\x01" + bytes([OK]), message(OK) + b"\0", message(NO) + b"\0", message(WAIT) + b"\0",
            message(UNAVAILABLE), message(UNAVAILABLE, 1, 1), message(DONE, 0), message(HELLO), message(0), message(10), message(255),
            message(AUTHENTICATE, "alice", "", "", "", 0), message(TYPED, "x"), message(CANCELLED), message(INFO), message(INFO, 0), message(ASK),
            HEAD + bytes([INFO]) + b"\0\5four", HEAD + bytes([INFO]) + b"\0\3four", HEAD + bytes([INFO]) + b"\xff\xff", message(INFO, b"a\0b"),
            message(INFO, "\x1b[2J"), message(ERROR, "a\nb"), message(ASK, "\x7f"), message(INFO, texts[2]), message(OK) + b"x" * 9000,
        ]
        for each in wrong:
            with self.subTest(each[:20]):
                def script(module):
                    module.begin()
                    module.raw(each)
                    module.expect_the_end()
                told = self.expect(script, UNAVAIL, within=0.5)
                self.assertEqual(told.shown(), [])
        for text in (texts[0], texts[1], "x" * 2042, "Fingerabdrücke: “ja”"):
            def script(module):
                module.begin()
                module.send(INFO, text)
                module.send(OK)
            self.assertEqual(self.expect(script, SUCCESS).shown(), [text])

    def test_an_empty_message_is_an_end(self):
        self.expect(lambda module: (module.begin(), module.raw(b""), module.expect_the_end()), UNAVAIL, within=0.5)

    def test_changed_messages_decide_nothing(self):
        """Changed messages of each kind, in one process: the result is what a second reader of the format says."""
        dice = random.Random(22)
        count = 60 if KIND == "valgrind" else 600
        kinds = [message(OK), message(NO), message(UNAVAILABLE, 7), message(DONE, 0), message(WAIT), message(INFO, "info"), message(ERROR, "error"),
                 message(ASK, "ask"), message(HELLO)]
        played = [change(dice, dice.choice(kinds)) for _ in range(count)]
        remaining = iter(played)
        def script(module):
            module.begin()
            module.raw(next(remaining))
        with ScriptedDaemon(SOCKET, script, count):
            told = self.run_program("no-ask", *["authenticate"] * count)
        self.assertEqual(told.results(), [{message(OK): SUCCESS, message(NO): AUTH_ERR}.get(each, UNAVAIL) for each in played])
        self.assertGreater(told.results().count(SUCCESS), 0)


def change(dice, original):
    way = dice.randrange(6)
    if way == 0:
        return original
    if way == 1:
        return original[:dice.randrange(1, len(original) + 1)]
    if way == 2:
        return original + dice.randbytes(dice.randrange(1, 40))
    if way == 3:
        return dice.randbytes(dice.randrange(1, 64))
    changed = bytearray(original)
    place = dice.randrange(len(changed))
    changed[place] ^= 1 << dice.randrange(8)
    return bytes(changed)


class ForeignListenerTests(Tests):
    """Somebody else's socket in the daemon's place gets nothing, and decides nothing."""

    def listen_as(self, user, service, result):
        with of_another_user(SOCKET, user) as got:
            told = self.run_program(service, "authenticate")
        self.assertEqual(told.results(), [result])
        self.expect_time(told, 0, 0.5)
        return got

    @unittest.skipIf(IS_ROOT, "root is always taken; root plays it with two accounts")
    def test_the_own_user_is_a_stranger(self):
        self.assertEqual(self.listen_as(os.getuid(), "strangers", UNAVAIL), [0])

    @unittest.skipUnless(IS_ROOT, "needs root, for other accounts")
    def test_a_third_account_is_refused(self):
        os.chmod(BUILT, 0o1777)
        self.assertEqual(self.listen_as(65534, "sign-in", UNAVAIL), [0])
        # There is no such account at all.
        self.assertEqual(self.listen_as(1, "strangers", UNAVAIL), [0])

    @unittest.skipUnless(IS_ROOT, "needs root, for other accounts")
    def test_the_daemons_account_is_taken(self):
        os.chmod(BUILT, 0o1777)
        got = self.listen_as(1, "sign-in", SUCCESS)
        self.assertGreater(got[0], 0)


class TypedTests(Tests):
    def ask(self, module, text="Passcode: "):
        module.begin()
        module.send(ASK, text)

    def test_what_is_typed_reaches_the_daemon(self):
        def script(module):
            self.ask(module)
            self.assertEqual(module.receive(), (TYPED, SECRET))
            module.send(OK)
        told = self.expect(script, SUCCESS, "sign-in", types(SECRET))
        self.assertEqual([(each["shown"], each["style"]) for each in told if "shown" in each], [("Passcode: ", 1)])

    def test_a_wrong_secret_is_asked_again(self):
        def script(module):
            self.ask(module)
            self.assertEqual(module.receive(), (TYPED, "wrong"))
            module.send(ERROR, "That is not the passcode.")
            module.send(ASK, "Passcode: ")
            self.assertEqual(module.receive(), (TYPED, "right"))
            module.send(OK)
        told = self.expect(script, SUCCESS, "sign-in", types("wrong"), types("right"))
        self.assertEqual(told.shown(), ["Passcode: ", "That is not the passcode.", "Passcode: "])

    def asks_until_it_is_left(self, typed):
        """Each answer is wrong, as the daemon says it: three times."""
        def script(module):
            self.ask(module)
            while (got := module.receive())[0] == TYPED:
                typed.append(got[1])
                module.send(ERROR, "Wrong passcode.")
                if len(typed) == 3:
                    return module.send(NO)
                module.send(ASK, "Passcode: ")
            self.assertEqual(got, (CANCELLED,))
            module.expect_the_end()
        return script

    def test_the_same_secret_is_checked_once(self):
        typed = []
        self.expect(self.asks_until_it_is_left(typed), AUTH_ERR, "sign-in", *[types("wrong")] * 3)
        self.assertEqual(typed, ["wrong"])

    def test_a_program_that_has_one_word_costs_one_try_and_its_word_reaches_the_password(self):
        typed = []
        told = self.expect(self.asks_until_it_is_left(typed), SUCCESS, "profile", *[types("password")] * 4)
        self.assertEqual(typed, ["password"])
        self.assertEqual([each for each in told.shown() if each != "Wrong passcode."], ["Passcode: ", "Passcode: ", "typed"])

    def test_other_secrets_are_checked_each(self):
        for words in (["one", "another", "one"], ["wrong", "wron", "wrong "], ["wrong", "Wrong", "wrong"]):
            typed = []
            self.expect(self.asks_until_it_is_left(typed), AUTH_ERR, "sign-in", *map(types, words))
            self.assertEqual(typed, words)

    def test_the_same_secret_serves_at_the_next_authentication(self):
        def script(module):
            self.ask(module)
            self.assertEqual(module.receive(), (TYPED, SECRET))
            module.send(NO)
        told = self.play(script, "sign-in", types(SECRET), types(SECRET), "authenticate", "authenticate", connections=2)
        self.assertEqual(told.results(), [AUTH_ERR, AUTH_ERR])

    def test_a_finger_beside_the_same_secret_counts(self):
        def script(module):
            self.ask(module)
            module.receive()
            module.send(ASK, "Passcode: ")
            time.sleep(0.1)
            module.send(OK)
            module.expect_the_end()
        self.expect(script, SUCCESS, "sign-in", types("wrong"), types("wrong", after="400"))

    def test_a_wrong_secret_ends_with_no(self):
        def script(module):
            self.ask(module)
            module.receive()
            module.send(NO)
        self.expect(script, AUTH_ERR, "sign-in", types("wrong"))

    def test_giving_up_is_told_and_unavailable(self):
        def script(module):
            self.ask(module)
            self.assertEqual(module.receive(), (CANCELLED,))
            module.expect_the_end()
        self.expect(script, UNAVAIL, "sign-in", GIVES_UP, within=0.5)

    def test_enter_alone_goes_on_to_the_next_line(self):
        def script(module):
            self.ask(module)
            self.assertEqual(module.receive(), (CANCELLED,))
            module.expect_the_end()
        self.expect(script, UNAVAIL, "sign-in", types(""), within=0.5)

    def decide(self, *messages):
        def script(module):
            self.ask(module)
            time.sleep(0.1)
            for each in messages:
                module.raw(each)
            module.expect_the_end()
        return script

    def test_a_finger_while_typing_counts_and_the_secret_stays(self):
        self.expect(self.decide(message(WAIT), message(OK)), SUCCESS, "sign-in", types(SECRET, after="400"))
        self.expect(self.decide(message(OK)), SUCCESS, "sign-in", types("", after="400"))

    def test_a_refusal_while_typing_counts_and_the_secret_stays(self):
        self.expect(self.decide(message(NO)), AUTH_ERR, "sign-in", types(SECRET, after="400"))
        self.expect(self.decide(message(UNAVAILABLE, 1)), UNAVAIL, "sign-in", types(SECRET, after="400"))

    def test_garbage_while_typing_sends_no_secret(self):
        self.expect(self.decide(b"garbage"), UNAVAIL, "sign-in", types(SECRET, after="400"))
        self.expect(self.decide(message(ASK, "another")), UNAVAIL, "sign-in", types(SECRET, after="400"))

    def test_who_gives_up_is_not_signed_in_by_a_finger(self):
        def script(module):
            self.ask(module)
            time.sleep(0.1)
            module.send(OK)
            try:
                self.assertEqual(module.receive(), (CANCELLED,))
            except ConnectionResetError:
                # The module leaves without having read it, and the kernel may tell that first.
                self.assertEqual(module.receive(), (CANCELLED,))
        self.expect(script, UNAVAIL, "sign-in", "answer=400!")

    def test_a_daemon_that_leaves_while_typing(self):
        def script(module):
            self.ask(module)
        self.expect(script, UNAVAIL, "sign-in", types(SECRET, after="400"))

    def test_time_to_type_is_no_silence(self):
        def script(module):
            self.ask(module)
            self.assertEqual(module.receive(), (TYPED, SECRET))
            time.sleep(1)
            module.send(OK)
        self.expect(script, SUCCESS, "sign-in", types(SECRET, after="3000"), least=3.9, within=4.6)

    def test_time_to_type_does_not_count_against_the_attempt(self):
        # Longer than five minutes of the module's clock.
        def script(module):
            self.ask(module)
            module.receive()
            time.sleep(0.005)
            module.send(OK)
        self.expect(script, SUCCESS, "sign-in", "speed=1000", types(SECRET, after="600"))

    def test_silence_after_the_secret(self):
        def script(module):
            self.ask(module)
            module.receive()
            module.expect_the_end()
        self.expect(script, UNAVAIL, "sign-in", types(SECRET), least=1.9, within=2.5)

    def test_a_secret_that_is_too_long_is_not_cut(self):
        def script(module):
            self.ask(module)
            module.expect_the_end()
        self.expect(script, UNAVAIL, "sign-in", types("s" * 2048))

    def test_a_question_that_may_not_be_asked(self):
        def script(module):
            self.assertEqual(module.begin()[-1], 0)
            module.send(ASK, "Passcode: ")
            module.expect_the_end()
        told = self.expect(script, UNAVAIL, "no-ask", types(SECRET))
        self.assertEqual(told.shown(), [])

    @unittest.skipIf(KIND == "valgrind", "takes minutes there")
    def test_each_way_leaves_no_secret_in_memory(self):
        ways = {
            "sent": lambda module: (self.ask(module), module.receive(), module.send(OK)),
            "unsent": lambda module: (self.ask(module), time.sleep(0.1), module.send(OK), module.expect_the_end()),
            "broken": lambda module: (self.ask(module), module.raw(b"garbage"), module.expect_the_end()),
            "repeated": self.asks_until_it_is_left([]),
            "followed": lambda module: (self.ask(module), module.receive(), module.send(ASK, "Passcode: "), module.receive(), module.send(OK)),
            "given up": lambda module: (self.ask(module), module.receive(), module.send(ASK, "Passcode: "), module.receive()),
        }
        second = {"repeated": [types(LONG_SECRET)], "followed": [types("another")], "given up": [GIVES_UP]}
        for name, script in ways.items():
            with self.subTest(name):
                first = types(LONG_SECRET, after="400" if name in ("unsent", "broken") else "")
                told = self.play(
                    script, "sign-in", first, *second.get(name, []), "authenticate", f"search={masked(END_OF_SECRET)}")
                self.assertEqual([each["found"] for each in told if "found" in each], [0])


class RemoteTests(Tests):
    """Who is at another machine (PAM_RHOST). sshd's password of a login answers every question."""

    def test_a_remote_person_is_not_asked(self):
        for service in ("sign-in", "no-ask", "no-terminal"):
            told = self.expect_no_connection(service, "item=rhost:host.example", types(SECRET), "authenticate")
            self.assertEqual((told.results(), told.shown()), ([UNAVAIL], []))

    def test_a_remote_password_costs_no_try(self):
        told = self.expect_no_connection("profile", "item=rhost:127.0.0.1", types(SECRET), "authenticate")
        self.assertEqual((told.results(), told.shown()), ([SUCCESS], ["typed"]))

    def test_a_line_for_remote_persons_asks(self):
        def script(module):
            self.assertEqual(module.begin(), (AUTHENTICATE, "alice", "remote", "host.example", "ssh", MAY_ASK))
            module.send(ASK, "Passcode: ")
            self.assertEqual(module.receive(), (TYPED, SECRET))
            module.send(OK)
        self.expect(script, SUCCESS, "remote", "item=rhost:host.example", "item=tty:ssh", types(SECRET))

    def test_a_line_for_remote_persons_tries_a_password_once(self):
        typed = []
        def script(module):
            module.begin()
            module.send(ASK, "Passcode: ")
            while (got := module.receive())[0] == TYPED:
                typed.append(got[1])
                module.send(ASK, "Passcode: ")
        told = self.expect(script, SUCCESS, "profile-remote", "item=rhost:host.example", *[types("password")] * 4)
        self.assertEqual((typed, told.shown()), (["password"], ["Passcode: ", "Passcode: ", "typed"]))

    def test_an_empty_host_is_here(self):
        self.expect(lambda module: (module.begin(), module.send(OK)), SUCCESS, "sign-in", "item=rhost:")

    def test_a_remote_login_still_opens_the_store(self):
        def script(module):
            self.assertEqual(module.begin(), (OPEN, "alice", "login", SECRET))
            module.send(DONE, 0)
        told = self.play(script, "login", "item=rhost:host.example", types(SECRET), "authenticate", "open")
        self.assertEqual((told.results(), told.results("open")), ([SUCCESS], [IGNORE]))


class LockedTests(Tests):
    """Accounts that pam_unix refuses: a yes of the module would pass over it."""

    # `passwd -l` and `usermod -L`, `passwd -l` of Red Hat, an account that never had a password, one of the system.
    LOCKED = ("!$y$j9T$salt$hash", "!!$6$salt$hash", "!", "!*", "*", "*LK*")
    HASH = "$y$j9T$salt$" + END_OF_SECRET

    def test_a_locked_account_is_not_signed_in(self):
        for field in self.LOCKED:
            for service in ("sign-in", "no-ask", "remote"):
                with self.subTest(field, service=service):
                    told = self.expect_no_connection(service, f"shadow={masked(field)}", types(SECRET), "authenticate")
                    self.assertEqual((told.results(), told.shown()), ([UNAVAIL], []))

    def test_the_password_has_its_turn(self):
        told = self.expect_no_connection("profile", f"shadow={masked('!')}", types(SECRET), "authenticate")
        self.assertEqual(told.shown(), ["typed"])

    def test_other_accounts_are_asked(self):
        for field in ("", "x", "$y$j9T$salt$hash", "$6$salt$!*"):
            self.expect(lambda module: (module.begin(), module.send(OK)), SUCCESS, "sign-in", f"shadow={masked(field)}")

    def test_an_account_that_cannot_be_looked_up_is_not_signed_in(self):
        for error in (errno.EMFILE, errno.ENOMEM, errno.ERANGE, errno.EIO):
            told = self.expect_no_connection("sign-in", f"shadow-error={error}", types(SECRET), "authenticate")
            self.assertEqual((told.results(), told.shown()), ([UNAVAIL], []))

    def test_a_file_that_is_not_there_or_not_for_the_program_locks_nobody(self):
        for error in (errno.ENOENT, errno.EACCES):
            self.expect(lambda module: (module.begin(), module.send(OK)), SUCCESS, "sign-in", f"shadow-error={error}")

    def test_the_line_of_a_locked_account_keeps_its_password(self):
        told = self.expect_no_connection("stash", f"shadow={masked('!')}", "authenticate")
        self.assertEqual(told.results(), [IGNORE])

    @unittest.skipIf(KIND == "valgrind", "takes minutes there")
    def test_no_hash_stays_in_memory(self):
        find = f"search={masked(END_OF_SECRET)}"
        told = self.expect_no_connection("sign-in", f"shadow={masked('!' + self.HASH)}", "authenticate", find)
        told += self.play(
            lambda module: (module.begin(), module.send(OK)), "sign-in", f"shadow={masked(self.HASH)}", "authenticate", find)
        self.assertEqual([each["found"] for each in told if "found" in each], [0, 0])


class StoreTests(Tests):
    def test_a_login_opens_the_store(self):
        def script(module):
            self.assertEqual(module.begin(), (OPEN, "alice", "login", SECRET))
            module.send(WAIT)
            module.send(DONE, 0)
            module.expect_the_end()
        told = self.play(script, "login", types(SECRET), "authenticate", "open", "close")
        self.assertEqual((told.results(), told.results("open")), ([SUCCESS], [IGNORE]))
        self.expect_time(told, 0, 0.5, "open")

    def test_each_result_lets_the_login_go_on(self):
        for result in (0, 1, 2, 3, 200):
            told = self.play(lambda module: (module.begin(), module.send(DONE, result)), "login", types(SECRET), "authenticate", "open")
            self.assertEqual(told.results("open"), [IGNORE])

    def test_the_stash_is_ignored_by_the_stack(self):
        told = self.run_program("stash", "authenticate", "open")
        self.assertEqual((told.results(), told.results("open")), ([IGNORE], [IGNORE]))

    def test_a_daemon_that_just_starts_is_waited_for(self):
        # The first login of a machine starts it, and so may a change.
        def script(module):
            time.sleep(3)
            module.begin()
            module.send(DONE, 0)
            module.expect_the_end()
        self.play(script, "login", types(SECRET), "authenticate", "open")
        self.play(script, "change", types("old"), types("new"), "change")

    def test_a_late_daemon_makes_no_opening_longer(self):
        # Six of ten seconds of the module's clock pass before the greeting.
        def script(module):
            time.sleep(3)
            self.wait_until_the_end(module)
        told = self.play(script, "login", types(SECRET), "authenticate", "speed=2", "open")
        self.assertEqual(told.results("open"), [IGNORE])
        self.expect_time(told, 4.9, 6.5, "open")

    def test_a_broken_daemon_delays_a_login(self):
        for script, least, most in (
            # It may start yet.
            (lambda module: module.expect_the_end(), 6.9, 9),
            (lambda module: (module.begin(), module.expect_the_end()), 1.9, 2.5),
            (lambda module: (module.begin(), module.send(OK), module.expect_the_end()), 0, 0.5),
            (lambda module: (module.begin(), module.raw(b"garbage"), module.expect_the_end()), 0, 0.5),
            (lambda module: None, 0, 0.5),
        ):
            told = self.play(script, "login", types(SECRET), "authenticate", "open")
            self.assertEqual(told.results("open"), [IGNORE])
            self.expect_time(told, least, most, "open")

    def wait_until_the_end(self, module):
        module.begin()
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while True:
                module.send(WAIT)
                time.sleep(0.02)

    def test_an_opening_has_an_end(self):
        # Ten seconds of the module's clock.
        told = self.play(self.wait_until_the_end, "login", types(SECRET), "authenticate", "speed=5", "open")
        self.assertEqual(told.results("open"), [IGNORE])
        self.expect_time(told, 1.9, 2.5, "open")

    def test_a_change_has_an_end(self):
        # A minute of the module's clock.
        told = self.play(self.wait_until_the_end, "change", types("old"), types("new"), "speed=30", "change")
        self.assertEqual(told.results("change"), [SUCCESS])
        self.expect_time(told, 1.9, 2.5, "change")

    def test_no_token_for_another_user(self):
        told = self.expect_no_connection("login", types(SECRET), "authenticate", "item=user:root", "open")
        self.assertEqual(told.results("open"), [IGNORE])

    def test_a_token_is_gone_after_a_session_of_another_user(self):
        self.expect_no_connection("login", types(SECRET), "authenticate", "item=user:root", "open", "item=user:alice", "open")

    def test_a_user_whose_name_begins_like_the_tokens(self):
        for user in ("alic", "alice2", "Alice", ""):
            self.expect_no_connection("login", types(SECRET), "authenticate", f"item=user:{user}", "open")

    def test_a_token_serves_once(self):
        def script(module):
            module.begin()
            module.send(DONE, 0)
        told = self.play(script, "login", types(SECRET), "authenticate", "open", "open")
        self.assertEqual(told.results("open"), [IGNORE, IGNORE])
        # Nobody would answer a second connection.
        self.assertLess([each["milliseconds"] for each in told if each.get("call") == "open"][1], 500)

    def test_a_second_authentication_replaces_the_token(self):
        def script(module):
            self.assertEqual(module.begin()[-1], "second")
            module.send(DONE, 0)
        self.play(script, "login", types("first"), types("second"), "authenticate", "authenticate", "open")
        self.expect_no_connection("login", types("first"), types(""), "authenticate", "authenticate", "open")

    def test_no_token_without_a_password(self):
        self.expect_no_connection("stash", "authenticate", "open")

    def test_a_misspelt_line_sends_nothing(self):
        self.expect_no_connection("misspelt-login", types(SECRET), "authenticate", "open", f"search={masked(SECRET)}")
        told = self.expect_no_connection("misspelt-change", types("old"), types("new"), "change")
        self.assertEqual(told.results("change"), [SUCCESS])

    def test_a_change_is_told(self):
        def script(module):
            self.assertEqual(module.begin(), (CHANGE, "alice", "old secret", "new secret"))
            module.send(DONE, 0)
        told = self.play(script, "change", types("old secret"), types("new secret"), "change")
        self.assertEqual(told.results("change"), [SUCCESS])

    def test_a_reset_tells_no_secret(self):
        def script(module):
            self.assertEqual(module.begin(), (RESET, "alice"))
            module.send(DONE, 0)
        told = self.play(script, "reset", types("new secret"), "change")
        self.assertEqual(told.results("change"), [SUCCESS])

    def test_an_empty_old_password_is_none(self):
        def script(module):
            self.assertEqual(module.begin(), (RESET, "alice"))
            module.send(DONE, 0)
        self.play(script, "change", types(""), types("new secret"), "change")

    def test_a_change_without_a_new_password_is_not_told(self):
        self.expect_no_connection("no-new", types("old"), "change")

    def test_secrets_that_are_too_long_are_not_cut(self):
        def script(module):
            module.send(HELLO)
            module.expect_the_end()
        told = self.play(script, "change", types("o" * 1024), types("n" * 1024), "change")
        self.assertEqual(told.results("change"), [SUCCESS])

    @unittest.skipUnless(KIND == "plain", "tools replace mlock")
    def test_the_token_lies_in_locked_memory_alone_and_is_wiped(self):
        find = f"search={masked(SECRET)}"
        def script(module):
            module.begin()
            module.send(DONE, 0)
        told = self.play(script, "login", types(SECRET), "authenticate", find, "open", find, "end", find)
        self.assertEqual([(each["found"], each["guarded"]) for each in told if "found" in each], [(1, 1), (0, 0), (0, 0)])
        told = self.run_program("login", types(SECRET), "authenticate", find, "end", find)
        self.assertEqual([each["found"] for each in told if "found" in each], [1, 0])

    @unittest.skipUnless(KIND == "plain" and not IS_ROOT, "root may lock without a limit")
    def test_no_token_without_locked_memory(self):
        self.expect_no_connection("login", "without-locks", types(SECRET), "authenticate", f"search={masked(SECRET)}", "open")

    @unittest.skipIf(KIND == "valgrind", "takes minutes there")
    def test_a_change_leaves_no_secret_in_memory(self):
        for script in (
            lambda module: (module.begin(), module.send(DONE, 0)),
            lambda module: (module.begin(), module.raw(b"garbage")),
        ):
            told = self.play(
                script, "change", types(SECRET), types(SECRET[::-1]), "change", f"search={masked(SECRET)}", f"search={masked(SECRET[::-1])}")
            self.assertEqual([each["found"] for each in told if "found" in each], [0, 0])


class HostTests(Tests):
    """The module is a guest in other programs."""

    def ok(self, module):
        module.begin()
        module.send(INFO, "Touch")
        module.send(OK)

    def test_signals_of_the_host_make_no_limit_longer_and_break_nothing(self):
        self.expect(lambda module: (module.begin(), module.expect_the_end()), UNAVAIL, "sign-in", "alarms=5", least=1.9, within=2.5)
        self.expect(lambda module: module.expect_the_end(), UNAVAIL, "sign-in", "alarms=5", least=1.9, within=2.5)
        def script(module):
            time.sleep(1)
            module.begin()
            time.sleep(1)
            module.send(OK)
        self.expect(script, SUCCESS, "sign-in", "alarms=5", within=2.6)

    def test_signals_while_the_daemon_is_full(self):
        with ScriptedDaemon(SOCKET, None, 0) as daemon:
            daemon.listener.listen(0)
            waiting = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            waiting.connect(SOCKET)
            told = self.run_program("sign-in", "alarms=5", "authenticate")
            waiting.close()
        self.assertEqual(told.results(), [UNAVAIL])
        self.expect_time(told, 0.9, 1.4)

    def test_no_sigpipe(self):
        def script(module):
            module.connection.shutdown(socket.SHUT_RD)
            module.send(HELLO)
            time.sleep(0.2)
        self.expect(script, UNAVAIL, within=0.6)

    def test_a_host_that_was_stopped_reads_what_came_meanwhile(self):
        def script(module):
            module.begin()
            os.kill(module.peer[0], signal.SIGSTOP)
            module.send(OK)
            time.sleep(2.5)
            os.kill(module.peer[0], signal.SIGCONT)
        self.expect(script, SUCCESS, within=3.2)

    def test_descriptors_of_the_daemon_are_closed(self):
        def script(module):
            module.begin()
            for _ in range(10):
                module.raw(message(WAIT), [0, 1, 2])
            module.send(OK)
        # The program counts its descriptors before and after.
        self.expect(script, SUCCESS)

    @unittest.skipIf(KIND == "valgrind", "valgrind has descriptors of its own")
    def test_no_descriptor_is_inherited(self):
        told = self.expect(self.ok, SUCCESS)
        self.assertEqual([each["inheritable"] for each in told if "shown" in each], [0])

    @unittest.skipIf(KIND == "valgrind", "valgrind opens them again")
    def test_standard_descriptors_that_are_closed_stay_closed(self):
        told = self.expect(self.ok, SUCCESS, "sign-in", "without-standard")
        self.assertEqual([each["standard"] for each in told if "shown" in each], [0])

    def test_threads_of_the_host(self):
        count = 16
        def script(module):
            user = module.begin()[1]
            module.send(WAIT)
            time.sleep(0.01)
            module.send(OK if int(user[5:]) % 3 else NO)
        told = self.play(script, "sign-in", f"together={count}", connections=count)
        self.assertEqual(
            {each["user"]: each["result"] for each in told if "user" in each},
            {f"guest{index}": SUCCESS if index % 3 else AUTH_ERR for index in range(count)},
        )

    @unittest.skipUnless(IS_ROOT and KIND == "plain", "needs root, for a setuid program")
    def test_a_setuid_program_with_the_persons_environment(self):
        drive = f"{BUILT}/drive-setuid"
        subprocess.run(["cp", f"{BUILT}/drive", drive], check=True)
        os.chmod(drive, 0o4755)
        os.chmod(BUILT, 0o1777)
        seen = []
        def script(module):
            seen.append((module.begin(), module.peer[1], module.sender[1]))
            module.send(OK)
        hostile = {"OSTIARY_PAM_SOCKET": "/tmp/x", "OSTIARY_RUNTIME_DIRECTORY": "/tmp", "TZ": "/dev/tty", "HOME": "/tmp",
                   "XDG_RUNTIME_DIR": "/tmp", "MALLOC_CHECK_": "3", "LANG": "de_DE.UTF-8"}
        with ScriptedDaemon(SOCKET, script):
            told = self.run_program("sign-in", "authenticate", program=drive, env=hostile,
                                    under=lambda command: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                                           "env", f"LD_PRELOAD={TYPED_MODULE}", *command])
        self.assertEqual(told.results(), [SUCCESS])
        # The peer is the effective user, the sender the real one: the daemon must ask for the first.
        self.assertEqual(seen, [((AUTHENTICATE, "alice", "sign-in", "", "", MAY_ASK), 0, 65534)])

    @unittest.skipUnless(KIND == "plain", "tools import more")
    def test_the_module_imports_and_exports_what_it_says(self):
        """No environment, child, thread, signal or standard stream can be reached without an import."""
        listed = subprocess.run(["nm", "-D", MODULE], check=True, capture_output=True, text=True).stdout
        imports = {re.sub("@.*|^__(.*)_chk@.*", r"\1" if "_chk@" in each else "", each) for each in re.findall(r" U (\S+)", listed)}
        self.assertEqual(imports - {"__errno_location", "__stack_chk_fail", "memset", "memcmp", "strlen", "strcmp", "memcpy", "explicit_bzero"}, {
            "clock_gettime", "close", "connect", "fcntl", "free", "fstat", "getpgrp", "getpwnam_r", "getsockopt", "getspnam_r", "ioctl", "isatty", "madvise", "mlock", "mmap",
            "munmap", "open", "pam_get_data", "pam_get_item", "pam_get_user", "pam_prompt", "pam_set_data", "pam_syslog", "poll", "recv", "sendmsg",
            "setsockopt", "snprintf", "socket", "stat", "tcgetpgrp",
        })
        self.assertEqual(set(re.findall(r" T (\S+)", listed)), {
            "pam_sm_authenticate", "pam_sm_setcred", "pam_sm_open_session", "pam_sm_close_session", "pam_sm_chauthtok",
        })
        dynamic = subprocess.run(["readelf", "-dW", MODULE], check=True, capture_output=True, text=True).stdout
        self.assertEqual(re.findall(r"NEEDED.*\[(.*)\]", dynamic), ["libpam.so.0", "libc.so.6"])
        self.assertIn("BIND_NOW", dynamic)
        self.assertNotRegex(dynamic, "RPATH|RUNPATH|TEXTREL")

    @unittest.skipUnless(KIND == "plain", "tools have state of their own")
    def test_the_module_has_no_state(self):
        symbols = subprocess.run(["nm", MODULE], check=True, capture_output=True, text=True).stdout
        of_the_compiler = {"_DYNAMIC", "_GLOBAL_OFFSET_TABLE_", "__TMC_END__", "__do_global_dtors_aux_fini_array_entry", "__dso_handle",
                           "__frame_dummy_init_array_entry", "completed.0"}
        self.assertEqual(set(re.findall(r" [dDbB] (\S+)", symbols)) - of_the_compiler, set())


class TerminalTests(Tests):
    def setUp(self):
        self.main, self.terminal = os.openpty()
        self.name = os.ttyname(self.terminal)

    def tearDown(self):
        os.close(self.main)
        os.close(self.terminal)

    def sit_at(self, started_in="import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"):
        """Runs the program where the terminal is the controlling one of its session."""
        program = f"import fcntl, os, termios; os.setsid(); fcntl.ioctl({self.terminal}, termios.TIOCSCTTY, 0)\n{started_in}"
        return lambda command: [sys.executable, "-c", program, *command]

    def expect_terminal(self, is_expected, *steps, service="sign-in", **options):
        seen = {}
        def script(module):
            seen["flags"] = module.begin()[-1]
            seen["count"] = len(module.descriptors)
            for descriptor in module.descriptors:
                seen["mode"] = os.get_blocking(descriptor)
                # Its own file: /dev/tty is one file for all terminals.
                seen["is own"] = os.path.sameopenfile(descriptor, self.terminal)
                os.write(descriptor, b"Passcode: ")
                seen["read"] = os.read(self.main, 100)
            module.send(OK)
        options = {"stdin": self.terminal} | options
        options["pass_fds"] = [self.terminal]
        with ScriptedDaemon(SOCKET, script):
            told = self.run_program(service, *steps, "authenticate", **options)
        self.assertEqual((told.results(), told.shown()), ([SUCCESS], []))
        expected = {"flags": MAY_ASK, "count": 0}
        if is_expected:
            expected = {"flags": MAY_ASK | TERMINAL, "count": 1, "mode": True, "is own": True, "read": b"Passcode: "}
        self.assertEqual(seen, expected)

    def start(self, service, *steps, pass_fds=(), **options):
        # The terminal has to reach the process that makes it the controlling one.
        if pass_fds:
            os.set_inheritable(self.terminal, True)
            options["close_fds"] = False
        return super().start(service, *steps, **options) if not pass_fds else self.start_with(service, steps, options)

    def start_with(self, service, steps, options):
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        prefix = ["valgrind", "--quiet", "--error-exitcode=99"] if KIND == "valgrind" else []
        command = prefix + [f"{BUILT}/drive", str(writing), CONFIGURATION, service, "alice", *steps]
        under = options.pop("under", None)
        started = subprocess.Popen(under(command) if under else command, stderr=subprocess.PIPE, **options)
        os.close(writing)
        started.told = open(reading, errors="replace")
        return started

    def test_the_terminal_of_the_person_comes_along(self):
        self.expect_terminal(True, f"item=tty:{self.name}", under=self.sit_at())

    def test_its_name_may_lack_the_folder(self):
        self.expect_terminal(True, f"item=tty:{self.name.removeprefix('/dev/')}", under=self.sit_at())

    def test_not_where_the_line_says_so(self):
        self.expect_terminal(False, f"item=tty:{self.name}", under=self.sit_at(), service="no-terminal")

    def test_not_from_a_program_that_names_none_or_another(self):
        # A screen lock that was started from a terminal.
        self.expect_terminal(False, under=self.sit_at())
        for name in (":0", "ssh", "/dev/null", "/dev/tty", "/dev/" + "x" * 100, f"{self.name}0"):
            self.expect_terminal(False, f"item=tty:{name}", under=self.sit_at())

    def test_not_from_a_program_that_reads_elsewhere(self):
        self.expect_terminal(False, f"item=tty:{self.name}", under=self.sit_at(), stdin=subprocess.DEVNULL)
        another_main, another = os.openpty()
        self.expect_terminal(False, f"item=tty:{self.name}", under=self.sit_at(), stdin=another)
        self.expect_terminal(False, f"item=tty:{os.ttyname(another)}", under=self.sit_at(), stdin=another)
        os.close(another_main)
        os.close(another)

    def test_not_from_a_program_without_a_controlling_terminal(self):
        self.expect_terminal(False, f"item=tty:{self.name}", under=lambda command: [
            sys.executable, "-c", "import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])", *command])

    def test_not_from_the_background(self):
        self.expect_terminal(False, f"item=tty:{self.name}", under=self.sit_at(
            "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], preexec_fn=lambda: os.setpgid(0, 0), close_fds=False))"))


@unittest.skipUnless(KIND == "plain", "these programs are not built with tools")
class PamtesterTests(Tests):
    """The same through a program of others, and through the stack's folder as programs name it."""

    def pamtester(self, service, operations, typed="", user="alice", under=()):
        wrapper = subprocess.run(["find", "/usr/lib", "-name", "libpam_wrapper.so"], capture_output=True, text=True).stdout.split()[0]
        return subprocess.run(
            [*under, "pamtester", service, user, *operations], input=typed, capture_output=True, text=True, timeout=30,
            env={"LD_PRELOAD": wrapper, "PAM_WRAPPER": "1", "PAM_WRAPPER_SERVICE_DIR": CONFIGURATION, "PATH": os.environ["PATH"]},
        )

    def test_results(self):
        for last, status, words in (
            (message(OK), 0, "pamtester: successfully authenticated\n"),
            (message(NO), 1, "pamtester: Authentication failure\n"),
            (message(UNAVAILABLE, 1), 1, "pamtester: Authentication service cannot retrieve authentication info\n"),
        ):
            with ScriptedDaemon(SOCKET, lambda module: (module.begin(), module.raw(last))):
                ended = self.pamtester("sign-in", ["authenticate"])
            self.assertEqual((ended.returncode, ended.stdout + ended.stderr), (status, words))

    def test_credentials_after_a_sufficient_line(self):
        with ScriptedDaemon(SOCKET, lambda module: (module.begin(), module.send(OK))):
            ended = self.pamtester("sufficient", ["authenticate", "setcred"])
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_a_login(self):
        def script(module):
            self.assertEqual(module.begin(), (OPEN, "alice", "login", SECRET))
            module.send(DONE, 0)
        with ScriptedDaemon(SOCKET, script):
            self.pamtester("login", ["authenticate", "open_session"], SECRET + "\n")

    @unittest.skipUnless(IS_ROOT, "needs root, for the machine's shadow file")
    def test_an_account_that_the_machine_has_locked(self):
        """The account `daemon` has no password (base-passwd). A program without root's rights cannot know."""
        field = subprocess.run(["getent", "shadow", "daemon"], check=True, capture_output=True, text=True).stdout.split(":")[1]
        self.assertIn(field[:1], ("*", "!"))
        with ScriptedDaemon(SOCKET, None, 0) as daemon:
            ended = self.pamtester("sign-in", ["authenticate"], user="daemon")
            daemon.listener.settimeout(0)
            with self.assertRaises(BlockingIOError):
                daemon.listener.accept()
        self.assertEqual(
            (ended.returncode, ended.stderr), (1, "pamtester: Authentication service cannot retrieve authentication info\n"))
        with ScriptedDaemon(SOCKET, lambda module: (module.begin(), module.send(OK))):
            ended = self.pamtester(
                "sign-in", ["authenticate"], user="daemon", under=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=1)
