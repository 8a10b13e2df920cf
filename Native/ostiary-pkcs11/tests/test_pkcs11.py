"""libostiary-pkcs11.so in programs of its own, against a stand-in for the door. Native/ostiary-pkcs11/test builds what this needs and runs it."""

import contextlib
import ctypes
import glob
import json
import os
import random
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
from ctypes import POINTER, byref, c_ulong, c_void_p, cast, create_string_buffer

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

import cryptoki as c
import fake_door

BUILT = os.environ["PKCS11_OSTIARY_BUILT"]
# plain or sanitized.
KIND = os.environ["PKCS11_OSTIARY_KIND"]
MODULE = f"{BUILT}/libostiary-pkcs11.so"
# Started in the door's place: what it does is in a file beside it.
STARTED = f"{BUILT}/started-door"
HERE = os.path.dirname(os.path.abspath(__file__))
IS_ROOT = os.geteuid() == 0
SYS_clone = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)


class Tests(unittest.TestCase):
    """Each test is played in a process of its own, with a module that nobody used before."""

    maxDiff = None
    plan = {}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pkcs11-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        shutil.copy(f"{BUILT}/keys.pem", f"{self.folder}/keys.pem")
        self.runtime, self.log = f"{self.folder}/run", f"{self.folder}/log"
        os.mkdir(self.runtime, 0o700)
        self.socket = f"{self.runtime}/ostiary/pkcs11.sock"
        os.environ["XDG_RUNTIME_DIR"] = self.runtime
        self.door = None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(STARTED + ".do")
        if self.plan is not None:
            self.start_door(**self.plan)
        self.addCleanup(self.end_doors)

    def end_doors(self):
        """Also those of a process of the test that was killed."""
        self.end_door()
        for each in self.events("listening"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each["process"], signal.SIGKILL)

    def start_door(self, **plan):
        before = len(self.events("listening"))
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        self.door = subprocess.Popen([sys.executable, "-B", f"{HERE}/fake_door.py", self.socket, self.log, json.dumps(plan)], env=environment,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: len(self.events("listening")) > before)

    def end_door(self):
        """Kills the door, whichever process of the test has started it, and returns when it is dead."""
        if self.door:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.door.pid, signal.SIGKILL)
            self.wait_for(self.is_door_dead)
            self.door.poll()
            self.door = None

    def is_door_dead(self):
        try:
            with open(f"/proc/{self.door.pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True

    def wait_for(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.005)

    def events(self, name=None, **values):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            told = [json.loads(line) for line in file.read().splitlines(keepends=True) if line.endswith("\n") or line.endswith("}")]
        wanted = ({"event": name} if name else {}) | values
        return [each for each in told if wanted.items() <= each.items()]

    def _callTestMethod(self, method):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 0
            try:
                os.close(reading)
                self.module = c.Module(MODULE)
                method()
            except unittest.SkipTest as skip:
                os.write(writing, f"{skip}".encode())
                status = 2
            except BaseException:
                os.write(writing, traceback.format_exc().encode())
                status = 1
            with contextlib.suppress(Exception):
                self.end_door()
            os._exit(status)
        os.close(writing)
        with os.fdopen(reading, errors="replace") as file:
            said = file.read()
        _, status = os.waitpid(child, 0)
        if status == 2 << 8:
            raise unittest.SkipTest(said)
        self.assertEqual(status, 0, said or f"ended with status {status:#x}")

    # What the tests do with the module.

    def begin(self, flags=c.SERIAL):
        c.check(self.module.initialize())
        return self.module.open(flags)

    def assert_code(self, code, function, *arguments, **values):
        with self.assertRaises(c.Failure) as raised:
            function(*arguments, **values)
        self.assertEqual(hex(raised.exception.code), hex(code))

    def verify(self, signature, data, used=None):
        numbers = utils.encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
        key = fake_door.load_keys(self.folder)[0].private.public_key()
        key.verify(numbers, data, ec.ECDSA(used or utils.Prehashed(hashes.SHA256())))

    def in_thread(self, function, *arguments):
        """Runs a function and keeps its result or failure."""
        class Kept(threading.Thread):
            def run(kept):
                try:
                    kept.result = function(*arguments)
                except c.Failure as failure:
                    kept.result = failure.code
        thread = Kept(daemon=True)
        thread.start()
        return thread

    def in_child(self, function):
        """Runs a function in a child, and says what is wrong with it."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                function()
                os._exit(0)
            except BaseException:
                os.write(writing, traceback.format_exc().encode())
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as file:
            said = file.read()
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0, said)


class InterfaceTests(Tests):
    def test_the_module_shows_its_functions_and_nothing_else(self):
        lines = subprocess.run(["nm", "-D", "--defined-only", MODULE], capture_output=True, text=True, check=True).stdout.splitlines()
        names = {line.split()[-1] for line in lines}
        self.assertEqual({name for name in names if not name.startswith("C_")}, set())
        self.assertEqual(len(names), 92)

    def test_both_versions_are_found(self):
        count = c_ulong()
        self.assertEqual(self.module.C_GetInterfaceList(None, byref(count)), c.OK)
        self.assertEqual(count.value, 2)
        few = c_ulong(1)
        room = (c.Interface * 2)()
        self.assertEqual(self.module.C_GetInterfaceList(room, byref(few)), c.BUFFER_TOO_SMALL)
        self.assertEqual(self.module.C_GetInterfaceList(room, byref(count)), c.OK)
        self.assertEqual([(each.name, each.functions[0].major, each.functions[0].minor) for each in room], [(b"PKCS 11", 3, 0), (b"PKCS 11", 2, 40)])
        found = POINTER(c.Interface)()
        self.assertEqual(self.module.C_GetInterface(None, None, byref(found), c_ulong(0)), c.OK)
        self.assertEqual(found[0].functions[0].major, 3)
        self.assertEqual(self.module.C_GetInterface(b"PKCS 11", byref(c.Version(2, 40)), byref(found), c_ulong(0)), c.OK)
        self.assertEqual(found[0].functions[0].major, 2)
        for name, version, flags in ((b"PKCS 12", None, 0), (None, byref(c.Version(3, 1)), 0), (None, None, 1)):
            self.assertEqual(self.module.C_GetInterface(name, version, byref(found), c_ulong(flags)), c.FUNCTION_FAILED)
            self.assertFalse(found)
        self.assertEqual(self.module.C_GetInterface(None, None, None, c_ulong(0)), c.ARGUMENTS_BAD)

    def functions(self, major):
        found = POINTER(c.Interface)()
        version = c.Version(3, 0) if major == 3 else c.Version(2, 40)
        c.check(self.module.C_GetInterface(None, byref(version), byref(found), c_ulong(0)))
        place = cast(found[0].functions, c_void_p).value + ctypes.sizeof(c_void_p)
        return (c_void_p * (92 if major == 3 else 68)).from_address(place)

    def test_the_lists_have_each_function_in_its_place(self):
        def address(name):
            return cast(getattr(self.module.library, name), c_void_p).value
        for major in (2, 3):
            table = self.functions(major)
            for index, name in ((0, "C_Initialize"), (12, "C_OpenSession"), (24, "C_GetAttributeValue"), (42, "C_SignInit"), (62, "C_DeriveKey"),
                                (67, "C_WaitForSlotEvent")):
                self.assertEqual(table[index], address(name), name)
        self.assertEqual(self.functions(3)[68], address("C_GetInterfaceList"))
        self.assertEqual(self.functions(3)[71], address("C_SessionCancel"))
        self.assertEqual(self.functions(3)[91], address("C_MessageVerifyFinal"))
        self.assertNotIn(None, list(self.functions(3)))

    def test_the_list_is_this_modules_where_the_host_has_functions_of_these_names(self):
        program = (
            "import ctypes, sys; ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL); m = ctypes.CDLL(sys.argv[2])\n"
            "l = ctypes.c_void_p(); assert m.C_GetFunctionList(ctypes.byref(l)) == 0\n"
            "f = ctypes.CFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p)(ctypes.c_void_p.from_address(l.value + 3 * ctypes.sizeof(ctypes.c_void_p)).value)\n"
            "print(f(None))"
        )
        run = subprocess.run([sys.executable, "-c", program, f"{BUILT}/other.so", MODULE], capture_output=True, text=True)
        # C_GetInfo of the other library says 4711.
        self.assertEqual((run.stdout, run.returncode), (f"{c.NOT_INITIALIZED}\n", 0), run.stderr)

    def test_random_bytes_are_the_kernels(self):
        session = self.begin()
        rooms = [create_string_buffer(64) for _ in range(2)]
        for room in rooms:
            self.assertEqual(self.module.C_GenerateRandom(c_ulong(session), room, c_ulong(64)), c.OK)
        self.assertNotEqual(rooms[0].raw, rooms[1].raw)
        self.assertEqual(self.module.C_GenerateRandom(c_ulong(session), None, c_ulong(1)), c.ARGUMENTS_BAD)
        self.assertEqual(self.module.C_GenerateRandom(c_ulong(99), rooms[0], c_ulong(1)), c.SESSION_HANDLE_INVALID)

    def test_what_is_not_there_says_so(self):
        session = self.begin()
        for name in ("C_VerifyInit", "C_Verify", "C_DigestInit", "C_Digest", "C_EncryptInit", "C_GenerateKeyPair", "C_CreateObject", "C_InitToken",
                     "C_DecryptUpdate", "C_MessageSignInit", "C_SetAttributeValue", "C_WrapKey"):
            self.assertEqual(getattr(self.module, name)(c_ulong(session), None, None, None, None, None, None, None), c.FUNCTION_NOT_SUPPORTED, name)


class ModuleTests(Tests):
    def arguments(self, functions=0, flags=0, reserved=None):
        made = c.InitializeArguments()
        for index in range(functions):
            made.functions[index] = 1
        made.flags, made.reserved = flags, reserved
        return made

    def test_nothing_works_before_it_is_initialized_or_after_the_end(self):
        calls = [
            lambda: self.module.C_GetInfo(create_string_buffer(200)), lambda: self.module.C_GetSlotList(b"\0", None, byref(c_ulong())),
            lambda: self.module.C_OpenSession(c_ulong(0), c_ulong(4), None, None, byref(c_ulong())), lambda: self.module.C_CloseSession(c_ulong(1)),
            lambda: self.module.C_FindObjectsInit(c_ulong(1), None, c_ulong(0)), lambda: self.module.C_Sign(c_ulong(1), b"", c_ulong(0), None, None),
            lambda: self.module.C_Login(c_ulong(1), c_ulong(1), None, c_ulong(0)), lambda: self.module.C_Finalize(None),
        ]
        for call in calls:
            self.assertEqual(call(), c.NOT_INITIALIZED)
        self.begin()
        self.assertEqual(self.module.C_Finalize(c_void_p(1)), c.ARGUMENTS_BAD)
        self.assertEqual(self.module.C_Finalize(None), c.OK)
        for call in calls:
            self.assertEqual(call(), c.NOT_INITIALIZED)

    def test_it_is_initialized_once(self):
        self.assertEqual(self.module.initialize(), c.OK)
        self.assertEqual(self.module.initialize(), c.ALREADY_INITIALIZED)

    def test_locks_of_the_host_alone_are_refused(self):
        self.assertEqual(self.module.initialize(self.arguments(functions=4)), c.CANT_LOCK)
        self.assertEqual(self.module.initialize(self.arguments(functions=3, flags=2)), c.ARGUMENTS_BAD)
        self.assertEqual(self.module.initialize(self.arguments(reserved=1)), c.ARGUMENTS_BAD)
        self.assertEqual(self.module.initialize(self.arguments(functions=4, flags=2)), c.OK)

    def test_nobody_has_to_log_in(self):
        self.begin()
        info = c.TokenInfo()
        self.assertEqual(self.module.C_GetTokenInfo(c_ulong(0), byref(info)), c.OK)
        # Neither CKF_LOGIN_REQUIRED nor CKF_RNG nor CKF_PROTECTED_AUTHENTICATION_PATH.
        self.assertEqual(info.flags, 0x400 | 0x2)
        self.assertEqual(bytes(info.label), b"Ostiary".ljust(32))
        slot = c.SlotInfo()
        self.assertEqual(self.module.C_GetSlotInfo(c_ulong(0), byref(slot)), c.OK)
        self.assertEqual(slot.flags, 1)
        for call in (self.module.C_GetTokenInfo, self.module.C_GetSlotInfo):
            self.assertEqual(call(c_ulong(1), byref(info)), c.SLOT_ID_INVALID)

    def test_there_is_one_slot(self):
        self.begin()
        count = c_ulong()
        for present in (b"\0", b"\1"):
            self.assertEqual(self.module.C_GetSlotList(present, None, byref(count)), c.OK)
            self.assertEqual(count.value, 1)
        room, none = (c_ulong * 1)(9), c_ulong(0)
        self.assertEqual(self.module.C_GetSlotList(b"\1", room, byref(none)), c.BUFFER_TOO_SMALL)
        self.assertEqual((none.value, room[0]), (1, 9))
        self.assertEqual(self.module.C_GetSlotList(b"\1", room, byref(count)), c.OK)
        self.assertEqual(room[0], 0)
        self.assertEqual(self.module.C_WaitForSlotEvent(c_ulong(1), byref(count), None), c.NO_EVENT)
        self.assertEqual(self.module.C_WaitForSlotEvent(c_ulong(0), byref(count), None), c.FUNCTION_NOT_SUPPORTED)

    def test_mechanisms_are_listed_with_their_uses(self):
        self.begin()
        count = c_ulong()
        self.assertEqual(self.module.C_GetMechanismList(c_ulong(0), None, byref(count)), c.OK)
        room = (c_ulong * count.value)()
        few = c_ulong(count.value - 1)
        self.assertEqual(self.module.C_GetMechanismList(c_ulong(0), room, byref(few)), c.BUFFER_TOO_SMALL)
        self.assertEqual(self.module.C_GetMechanismList(c_ulong(0), room, byref(count)), c.OK)
        self.assertLessEqual({c.ECDSA, c.ECDSA_SHA256, c.ECDH, c.EDDSA, c.RSA_PKCS, c.RSA_PSS, c.RSA_OAEP}, set(room))
        info = (c_ulong * 3)()
        self.assertEqual(self.module.C_GetMechanismInfo(c_ulong(0), c_ulong(c.RSA_PKCS), info), c.OK)
        self.assertEqual(info[2], 1 << 11 | 1 << 9 | 1)
        self.assertEqual(self.module.C_GetMechanismInfo(c_ulong(0), c_ulong(c.SHA256), info), c.MECHANISM_INVALID)

    def test_the_door_is_reached_when_somebody_looks_for_objects_and_not_before(self):
        session = self.begin()
        self.module.C_GetTokenInfo(c_ulong(0), byref(c.TokenInfo()))
        self.module.C_Login(c_ulong(session), c_ulong(1), b"1", c_ulong(1))
        # NSS looks for its own kinds all the time.
        self.assertEqual(self.module.find(session, **{"class": c.NSS_TRUST}), [])
        self.assertEqual(self.module.find(session, **{"class": c.SECRET_KEY}), [])
        self.assertEqual(self.module.find(session, token=False), [])
        self.assertEqual(self.events("connected"), [])
        self.assertEqual(len(self.module.find(session)), 7)
        self.assertEqual(len(self.events("connected")), 1)


class SessionTests(Tests):
    def test_sessions_are_told_apart(self):
        first, second = self.begin(), self.module.open(c.SERIAL | c.READ_WRITE)
        self.assertNotEqual(first, second)
        info = c.SessionInfo()
        for session, state in ((first, 0), (second, 2)):
            self.assertEqual(self.module.C_GetSessionInfo(c_ulong(session), byref(info)), c.OK)
            self.assertEqual(info.state, state)
        self.assertEqual(self.module.C_CloseSession(c_ulong(first)), c.OK)
        self.assertEqual(self.module.C_CloseSession(c_ulong(first)), c.SESSION_HANDLE_INVALID)
        self.assertNotIn(self.module.open(), (first, second))
        self.assertEqual(self.module.C_CloseAllSessions(c_ulong(1)), c.SLOT_ID_INVALID)
        self.assertEqual(self.module.C_CloseAllSessions(c_ulong(0)), c.OK)
        self.assertEqual(self.module.C_GetSessionInfo(c_ulong(second), byref(info)), c.SESSION_HANDLE_INVALID)

    def test_there_may_be_thousands(self):
        self.begin()
        handles = {self.module.open() for _ in range(4095)}
        self.assertEqual(len(handles), 4095)
        self.assert_code(0xB1, self.module.open)

    def test_a_session_is_serial(self):
        self.begin()
        self.assert_code(c.SESSION_PARALLEL_NOT_SUPPORTED, self.module.open, c.READ_WRITE)
        self.assertEqual(self.module.C_OpenSession(c_ulong(1), c_ulong(4), None, None, byref(c_ulong())), c.SLOT_ID_INVALID)
        self.assertEqual(self.module.C_OpenSession(c_ulong(0), c_ulong(4), None, None, None), c.ARGUMENTS_BAD)

    def test_a_login_is_accepted_and_means_nothing(self):
        session = self.begin()
        login = lambda user: self.module.C_Login(c_ulong(session), c_ulong(user), b"1234", c_ulong(4))
        self.assertEqual(login(0), c.USER_TYPE_INVALID)
        self.assertEqual(login(2), c.OPERATION_NOT_INITIALIZED)
        self.assertEqual(self.module.C_Logout(c_ulong(session)), c.USER_NOT_LOGGED_IN)
        self.assertEqual((login(1), login(1)), (c.OK, c.USER_ALREADY_LOGGED_IN))
        self.assertEqual(self.module.C_Logout(c_ulong(session)), c.OK)
        self.assertEqual(self.module.C_Login(c_ulong(99), c_ulong(1), None, c_ulong(0)), c.SESSION_HANDLE_INVALID)


class SearchTests(Tests):
    def test_templates_choose(self):
        session = self.begin()
        self.assertEqual(len(self.module.find(session)), 7)
        self.assertEqual(len(self.module.find(session, **{"class": c.PRIVATE_KEY})), 3)
        self.assertEqual(len(self.module.find(session, **{"class": c.CERTIFICATE})), 1)
        self.assertEqual(len(self.module.find(session, token=True)), 7)
        (key,) = self.module.find(session, **{"class": c.PRIVATE_KEY, "label": "legacy", "key_type": c.KEY_RSA})
        self.assertEqual(self.module.find(session, **{"class": c.PRIVATE_KEY, "label": "legacy", "key_type": c.KEY_EC}), [])
        # A part of a value, and a value with more behind it, are other values.
        self.assertEqual(self.module.find(session, label="wor"), [])
        self.assertEqual(self.module.find(session, label="work\0"), [])
        # No object has it, or shows it.
        self.assertEqual(self.module.find(session, value_len=3), [])
        self.assertEqual(self.module.find(session, private_exponent=b""), [])
        self.assertEqual(self.module.get(session, key, c.LABEL), b"legacy")

    def test_the_certificate_has_the_id_of_its_key(self):
        session = self.begin()
        (certificate,) = self.module.find(session, **{"class": c.CERTIFICATE})
        identity = self.module.get(session, certificate, c.ID)
        self.assertEqual([self.module.get(session, key, c.LABEL) for key in self.module.find(session, **{"class": c.PRIVATE_KEY, "id": identity})], [b"work"])

    def test_a_search_goes_on_where_it_was(self):
        session = self.begin()
        self.assertEqual(sorted(self.module.find(session, maximum=2)), sorted(self.module.find(session)))
        # A search for none of them.
        self.assertEqual(self.module.C_FindObjectsInit(c_ulong(session), None, c_ulong(0)), c.OK)
        count = c_ulong(9)
        self.assertEqual(self.module.C_FindObjects(c_ulong(session), None, c_ulong(0), byref(count)), c.OK)
        self.assertEqual(count.value, 0)
        self.assertEqual(self.module.C_FindObjects(c_ulong(session), None, c_ulong(1), byref(count)), c.ARGUMENTS_BAD)

    def test_a_session_has_one_search(self):
        session = self.begin()
        room, count = (c_ulong * 9)(), c_ulong()
        self.assertEqual(self.module.C_FindObjects(c_ulong(session), room, c_ulong(9), byref(count)), c.OPERATION_NOT_INITIALIZED)
        self.assertEqual(self.module.C_FindObjectsFinal(c_ulong(session)), c.OPERATION_NOT_INITIALIZED)
        self.assertEqual(self.module.C_FindObjectsInit(c_ulong(session), None, c_ulong(0)), c.OK)
        self.assertEqual(self.module.C_FindObjectsInit(c_ulong(session), None, c_ulong(0)), c.OPERATION_ACTIVE)
        self.assertEqual(self.module.C_FindObjectsFinal(c_ulong(session)), c.OK)

    def test_wrong_templates_are_refused(self):
        session = self.begin()
        wrong = (c.Attribute * 1)(c.Attribute(c.LABEL, None, 4))
        self.assertEqual(self.module.C_FindObjectsInit(c_ulong(session), wrong, c_ulong(1)), c.ATTRIBUTE_VALUE_INVALID)
        self.assertEqual(self.module.C_FindObjectsInit(c_ulong(session), None, c_ulong(1)), c.ARGUMENTS_BAD)
        self.assertEqual(self.module.C_FindObjectsInit(c_ulong(99), None, c_ulong(0)), c.SESSION_HANDLE_INVALID)

    def test_handles_stay_and_are_never_given_again(self):
        self.end_door()
        removed = f"{self.folder}/removed"
        self.start_door(removed_file=removed, page=2)
        session = self.begin()
        before = self.module.find(session)
        self.assertEqual(self.module.find(session), before)
        key = self.module.key(session, "work")
        open(removed, "w").close()
        after = self.module.find(session)
        self.assertLess(set(after), set(before))
        self.assertNotIn(key, after)
        self.assert_code(c.OBJECT_HANDLE_INVALID, self.module.get, session, key, c.LABEL)
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.KEY_HANDLE_INVALID)
        os.unlink(removed)
        self.assertEqual(set(self.module.find(session)) & set(before), set(after))


class ManyObjectsTests(Tests):
    plan = {"times": 585, "page": 50}

    def test_as_many_as_a_list_may_have(self):
        session = self.begin()
        # Twins are found as the first of them.
        self.assertEqual(len(self.module.find(session)), 4095)

    def test_more_than_a_list_may_have(self):
        self.end_door()
        self.start_door(times=586, page=50)
        self.assert_code(c.DEVICE_ERROR, self.module.find, self.begin())


class AttributeTests(Tests):
    def test_values_have_the_hosts_form(self):
        session = self.begin()
        key, public = self.module.key(session, "legacy"), self.module.key(session, "legacy", c.PUBLIC_KEY)
        self.assertEqual(self.module.get(session, key, c.KEY_TYPE), c.number(c.KEY_RSA))
        self.assertEqual(self.module.get(session, public, c.MODULUS_BITS), c.number(2048))
        self.assertEqual(len(self.module.get(session, public, c.MODULUS)), 256)
        self.assertEqual(self.module.get(session, key, c.ALWAYS_AUTHENTICATE), b"\0")
        allowed = self.module.get(session, key, c.ALLOWED_MECHANISMS)
        self.assertEqual(allowed[:16], c.number(c.RSA_PKCS) + c.number(c.RSA_OAEP))
        self.assertEqual(self.module.get(session, self.module.key(session, "work"), c.EC_PARAMS), fake_door.P256)

    def test_each_attribute_is_looked_at_whatever_the_others_are(self):
        session = self.begin()
        key = self.module.key(session, "legacy")
        small, right, large = create_string_buffer(3), create_string_buffer(6), create_string_buffer(9)
        wanted = (c.Attribute * 7)(
            c.Attribute(c.PRIVATE_EXPONENT, cast(large, c_void_p), 9), c.Attribute(c.LABEL, cast(small, c_void_p), 3), c.Attribute(c.EC_POINT, None, 0),
            c.Attribute(c.PRIME_1, None, 0), c.Attribute(c.LABEL, cast(right, c_void_p), 6), c.Attribute(c.LABEL, None, 0),
            c.Attribute(c.LABEL, cast(large, c_void_p), 9),
        )
        code = self.module.C_GetAttributeValue(c_ulong(session), c_ulong(key), wanted, c_ulong(7))
        self.assertIn(code, (c.ATTRIBUTE_SENSITIVE, c.BUFFER_TOO_SMALL, c.ATTRIBUTE_TYPE_INVALID))
        self.assertEqual([each.size for each in wanted], [c.UNAVAILABLE] * 4 + [6, 6, 6])
        self.assertEqual((small.raw, right.raw, large.raw), (b"\0\0\0", b"legacy", b"legacy\0\0\0"))

    def code(self, session, key, kind, room=None):
        buffer = create_string_buffer(max(1, room or 0))
        wanted = (c.Attribute * 1)(c.Attribute(kind, None if room is None else cast(buffer, c_void_p), room or 0))
        return self.module.C_GetAttributeValue(c_ulong(session), c_ulong(key), wanted, c_ulong(1))

    def test_each_cause_has_its_code(self):
        session = self.begin()
        rsa, curve = self.module.key(session, "legacy"), self.module.key(session, "work")
        self.assertEqual(self.code(session, rsa, c.PRIVATE_EXPONENT), c.ATTRIBUTE_SENSITIVE)
        self.assertEqual(self.code(session, curve, c.VALUE), c.ATTRIBUTE_SENSITIVE)
        # An RSA key has no such part.
        self.assertEqual(self.code(session, rsa, c.VALUE), c.ATTRIBUTE_TYPE_INVALID)
        self.assertEqual(self.code(session, curve, c.PRIME_1), c.ATTRIBUTE_TYPE_INVALID)
        self.assertEqual(self.code(session, curve, 0x7777), c.ATTRIBUTE_TYPE_INVALID)
        self.assertEqual(self.code(session, curve, c.LABEL, 3), c.BUFFER_TOO_SMALL)
        self.assertEqual(self.code(session, curve, c.LABEL, 4), c.OK)
        self.assertEqual(self.code(session, 9999, c.LABEL), c.OBJECT_HANDLE_INVALID)
        self.assertEqual(self.code(9999, curve, c.LABEL), c.SESSION_HANDLE_INVALID)
        self.assertEqual(self.module.C_GetAttributeValue(c_ulong(session), c_ulong(curve), None, c_ulong(1)), c.ARGUMENTS_BAD)
        self.assertEqual(self.code(session, self.module.find(session, **{"class": c.CERTIFICATE})[0], c.VALUE), c.OK)

    def test_objects_of_the_token_are_not_destroyed(self):
        session = self.begin()
        key = self.module.key(session, "work")
        self.assertEqual(self.module.C_DestroyObject(c_ulong(session), c_ulong(key)), c.ACTION_PROHIBITED)
        self.assertEqual(self.module.C_DestroyObject(c_ulong(session), c_ulong(9999)), c.OBJECT_HANDLE_INVALID)
        self.assertEqual(self.module.key(session, "work"), key)


class SignatureTests(Tests):
    digest = bytes(range(32))

    def test_a_digest_is_signed(self):
        session = self.begin()
        key = self.module.key(session, "work")
        self.verify(self.module.sign_all(session, c.ECDSA, key, self.digest), self.digest)
        self.verify(self.module.sign_all(session, c.ECDSA_SHA256, key, b"a message"), b"a message", ec.ECDSA(hashes.SHA256()).algorithm)

    def test_the_size_is_told_without_a_signature(self):
        session = self.begin()
        key = self.module.key(session, "work")
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)
        size = c_ulong(7)
        self.assertEqual(self.module.C_Sign(c_ulong(session), self.digest, c_ulong(32), None, byref(size)), c.OK)
        self.assertEqual(size.value, 64)
        room, size = create_string_buffer(63), c_ulong(63)
        self.assertEqual(self.module.C_Sign(c_ulong(session), self.digest, c_ulong(32), room, byref(size)), c.BUFFER_TOO_SMALL)
        self.assertEqual((size.value, room.raw), (64, bytes(63)))
        self.assertEqual(self.events("sign"), [])
        self.verify(self.module.sign(session, self.digest, room=64), self.digest)
        # It is over now.
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.sign, session, self.digest)

    def test_a_key_signs_only_as_it_says(self):
        session = self.begin()
        work, legacy, public = self.module.key(session, "work"), self.module.key(session, "legacy"), self.module.key(session, "work", c.PUBLIC_KEY)
        (certificate,) = self.module.find(session, **{"class": c.CERTIFICATE})
        for code, kind, key in (
            (c.KEY_HANDLE_INVALID, c.ECDSA, 9999), (c.KEY_FUNCTION_NOT_PERMITTED, c.ECDSA, public), (c.KEY_HANDLE_INVALID, c.ECDSA, certificate),
            (c.KEY_TYPE_INCONSISTENT, c.ECDSA, legacy), (c.KEY_TYPE_INCONSISTENT, c.RSA_PKCS, work), (c.MECHANISM_INVALID, c.SHA256, work),
            (c.MECHANISM_INVALID, c.ECDH, work), (c.MECHANISM_INVALID, c.RSA_OAEP, legacy), (c.MECHANISM_PARAM_INVALID, c.RSA_PSS, legacy),
        ):
            self.assertEqual(self.module.begin(session, kind, key), code, (kind, key))
        self.assertEqual(self.module.begin(session, c.ECDSA, work, c.PSS(c.SHA256, 2, 32)), c.MECHANISM_PARAM_INVALID)
        self.assertEqual(self.module.begin(session, c.RSA_PSS, legacy, c.PSS(c.SHA256, 2, 2 ** 32)), c.MECHANISM_PARAM_INVALID)
        self.assertEqual(self.events("sign"), [])

    def test_a_session_has_one_signature(self):
        session = self.begin()
        key = self.module.key(session, "work")
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.sign, session, self.digest)
        self.assertEqual(self.module.update(session, b"x"), c.OPERATION_NOT_INITIALIZED)
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OPERATION_ACTIVE)
        # Without a mechanism it is cancelled.
        self.assertEqual(self.module.C_SignInit(c_ulong(session), None, c_ulong(0)), c.OK)
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)
        self.assertEqual(self.module.C_SessionCancel(c_ulong(session), c_ulong(1 << 11)), c.OK)
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)

    def test_refused_data_ends_the_signature(self):
        session = self.begin()
        key = self.module.key(session, "work")
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)
        self.assert_code(c.DATA_LEN_RANGE, self.module.sign, session, b"short")
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.sign, session, self.digest)
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)
        self.assertEqual(self.module.C_Sign(c_ulong(session), None, c_ulong(4), create_string_buffer(64), byref(c_ulong(64))), c.ARGUMENTS_BAD)
        self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)
        self.assertEqual(self.module.C_Sign(c_ulong(session), self.digest, c_ulong(32), create_string_buffer(64), None), c.ARGUMENTS_BAD)

    def test_a_refusal_of_the_person_ends_the_signature(self):
        self.end_door()
        self.start_door(refuse={"sign": c.FUNCTION_REJECTED})
        session = self.begin()
        key = self.module.key(session, "work")
        self.assertEqual(self.module.begin(session, c.ECDSA_SHA256, key), c.OK)
        self.assert_code(c.FUNCTION_REJECTED, self.module.sign, session, b"message")
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.sign, session, b"message")
        self.assertEqual(self.module.update(session, b"message"), c.OPERATION_NOT_INITIALIZED)
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.final, session)
        self.assertEqual((len(self.events("sign")), self.events("update")), (1, []))
        # The host may begin another one with the same key; what that is the door decides. A refusal ends one of parts, too.
        self.assertEqual(self.module.begin(session, c.ECDSA_SHA256, key), c.OK)
        self.assertEqual(self.module.update(session, b"message"), c.OK)
        self.assert_code(c.FUNCTION_REJECTED, self.module.final, session)
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.final, session)
        self.assertEqual(len(self.events("sign")), 2)

    def test_rsa_keys_sign_with_each_padding(self):
        session = self.begin()
        key = self.module.key(session, "legacy")
        public = fake_door.load_keys(self.folder)[1].private.public_key()
        public.verify(self.module.sign_all(session, c.SHA256_RSA, key, b"message"), b"message", padding.PKCS1v15(), hashes.SHA256())
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
        public.verify(self.module.sign_all(session, c.SHA256_PSS, key, b"message", c.PSS(c.SHA256, 2, 32)), b"message", pss, hashes.SHA256())
        signature = self.module.sign_all(session, c.RSA_PSS, key, self.digest, c.PSS(c.SHA256, 2, 32))
        public.verify(signature, self.digest, pss, utils.Prehashed(hashes.SHA256()))
        info = bytes.fromhex("3031300d060960864801650304020105000420") + self.digest
        public.verify(self.module.sign_all(session, c.RSA_PKCS, key, info), self.digest, padding.PKCS1v15(), utils.Prehashed(hashes.SHA256()))

    def test_parts_are_one_message(self):
        session = self.begin()
        key = self.module.key(session, "work")
        message = random.Random(1).randbytes(200_000)
        for cuts in ([0, len(message)], [0, 0, 1, 32768, 65536, 65537, 150_000, len(message)]):
            self.assertEqual(self.module.begin(session, c.ECDSA_SHA256, key), c.OK)
            for begin, end in zip(cuts, cuts[1:]):
                self.assertEqual(self.module.update(session, message[begin:end]), c.OK)
            self.verify(self.module.final(session), message, hashes.SHA256())
        # In one call, too, and without any data.
        self.verify(self.module.sign_all(session, c.ECDSA_SHA256, key, message), message, hashes.SHA256())
        self.verify(self.module.sign_all(session, c.ECDSA_SHA256, key, b""), b"", hashes.SHA256())
        self.assertEqual(self.module.begin(session, c.ECDSA_SHA256, key), c.OK)
        self.verify(self.module.final(session), b"", hashes.SHA256())

    def test_parts_and_one_call_do_not_mix(self):
        session = self.begin()
        key = self.module.key(session, "work")
        self.assertEqual(self.module.begin(session, c.ECDSA_SHA256, key), c.OK)
        self.assertEqual(self.module.update(session, b"a"), c.OK)
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.sign, session, b"b")
        self.verify(self.module.final(session), b"a", hashes.SHA256())

    def test_the_door_forgets_what_is_not_finished(self):
        session = self.begin()
        key = self.module.key(session, "work")
        for end in (lambda: self.module.C_SessionCancel(c_ulong(session), c_ulong(1 << 11)), lambda: self.module.C_SignInit(c_ulong(session), None, c_ulong(0)),
                    lambda: self.module.C_CloseSession(c_ulong(session))):
            self.assertEqual(self.module.begin(session, c.ECDSA_SHA256, key), c.OK)
            self.assertEqual(self.module.update(session, b"a"), c.OK)
            before = len(self.events("forget"))
            self.assertEqual(end(), c.OK)
            self.wait_for(lambda: len(self.events("forget")) == before + 1)


class DecryptionTests(Tests):
    def test_both_paddings(self):
        session = self.begin()
        key = self.module.key(session, "legacy")
        public = fake_door.load_keys(self.folder)[1].private.public_key()
        sealed = public.encrypt(b"secret", padding.PKCS1v15())
        self.assertEqual(self.module.decrypt(session, c.RSA_PKCS, key, sealed), b"secret")
        oaep = public.encrypt(b"secret", padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None))
        self.assertEqual(self.module.decrypt(session, c.RSA_OAEP, key, oaep, c.OAEP(c.SHA256, 2, 1, None, 0)), b"secret")
        self.assert_code(c.ENCRYPTED_DATA_INVALID, self.module.decrypt, session, c.RSA_OAEP, key, sealed, c.OAEP(c.SHA256, 2, 1, None, 0))
        self.assert_code(c.ENCRYPTED_DATA_LEN_RANGE, self.module.decrypt, session, c.RSA_PKCS, key, sealed[:-1])
        self.assert_code(c.ENCRYPTED_DATA_LEN_RANGE, self.module.decrypt, session, c.RSA_PKCS, key, bytes(1025))
        self.assert_code(c.MECHANISM_PARAM_INVALID, self.module.decrypt, session, c.RSA_OAEP, key, oaep, c.OAEP(c.SHA256, 2, 1, None, 5))
        self.assert_code(c.KEY_TYPE_INCONSISTENT, self.module.decrypt, session, c.RSA_PKCS, self.module.key(session, "work"), sealed)
        self.assert_code(c.MECHANISM_INVALID, self.module.decrypt, session, c.SHA256_RSA, key, sealed)

    def test_the_buffer_has_room_for_all(self):
        session = self.begin()
        key = self.module.key(session, "legacy")
        sealed = fake_door.load_keys(self.folder)[1].private.public_key().encrypt(b"secret", padding.PKCS1v15())
        self.assertEqual(self.module.C_DecryptInit(c_ulong(session), byref(c.mechanism(c.RSA_PKCS)), c_ulong(key)), c.OK)
        size = c_ulong()
        self.assertEqual(self.module.C_Decrypt(c_ulong(session), sealed, c_ulong(256), None, byref(size)), c.OK)
        self.assertEqual(size.value, 256)
        small = c_ulong(255)
        self.assertEqual(self.module.C_Decrypt(c_ulong(session), sealed, c_ulong(256), create_string_buffer(255), byref(small)), c.BUFFER_TOO_SMALL)
        self.assertEqual(self.events("decrypt"), [])
        room = create_string_buffer(256)
        self.assertEqual(self.module.C_Decrypt(c_ulong(session), sealed, c_ulong(256), room, byref(size)), c.OK)
        self.assertEqual(room.raw[:size.value], b"secret")


class DerivationTests(Tests):
    def setUp(self):
        super().setUp()
        self.other = ec.generate_private_key(ec.SECP256R1())
        self.point = self.other.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)

    def expected(self):
        return self.other.exchange(ec.ECDH(), fake_door.load_keys(self.folder)[0].private.public_key())

    def test_the_secret_is_an_object_of_the_session(self):
        session = self.begin()
        key = self.module.key(session, "work")
        for point in (self.point, fake_door.octets(self.point)):
            made = self.module.derive(session, key, c.agreement(point))
            self.assertEqual(self.module.get(session, made, c.VALUE), self.expected())
            self.assertEqual(self.module.get(session, made, c.VALUE_LEN), c.number(32))
            self.assertEqual(self.module.get(session, made, c.CLASS), c.number(c.SECRET_KEY))
            self.assertEqual(self.module.get(session, made, c.TOKEN), b"\0")
        # Other sessions see it; it goes with its own.
        other = self.module.open()
        self.assertEqual(len(self.module.find(other, **{"class": c.SECRET_KEY})), 2)
        self.assertIn(made, self.module.find(other, token=False))
        self.assertNotIn(made, self.module.find(other, token=True))
        self.assertEqual(self.module.C_DestroyObject(c_ulong(session), c_ulong(made)), c.OK)
        self.assertEqual(len(self.module.find(other, **{"class": c.SECRET_KEY})), 1)
        self.assertEqual(self.module.C_CloseSession(c_ulong(session)), c.OK)
        self.assertEqual(self.module.find(other, **{"class": c.SECRET_KEY}), [])

    def test_a_new_list_leaves_it(self):
        session = self.begin()
        made = self.module.derive(session, self.module.key(session, "work"), c.agreement(self.point))
        self.module.find(session)
        self.assertEqual(self.module.get(session, made, c.VALUE), self.expected())

    def test_the_template_counts(self):
        session = self.begin()
        key = self.module.key(session, "work")
        made = self.module.derive(session, key, c.agreement(self.point), {
            c.CLASS: c.SECRET_KEY, c.KEY_TYPE: c.KEY_AES, c.VALUE_LEN: 16, c.LABEL: "shared", c.TOKEN: False, c.ID: b"\1\2"})
        self.assertEqual(self.module.get(session, made, c.VALUE), self.expected()[16:])
        self.assertEqual((self.module.get(session, made, c.LABEL), self.module.get(session, made, c.ID)), (b"shared", b"\1\2"))
        self.assertEqual(self.module.get(session, made, c.KEY_TYPE), c.number(c.KEY_AES))
        for values in ({c.SENSITIVE: True}, {c.EXTRACTABLE: False}):
            hidden = self.module.derive(session, key, c.agreement(self.point), values)
            self.assert_code(c.ATTRIBUTE_SENSITIVE, self.module.get, session, hidden, c.VALUE)
            self.assertNotIn(hidden, self.module.find(session, value=self.expected()))
            self.assertIn(hidden, self.module.find(session, **{"class": c.SECRET_KEY}))

    def test_what_cannot_be_is_refused_and_nobody_is_asked(self):
        session = self.begin()
        key, legacy = self.module.key(session, "work"), self.module.key(session, "legacy")
        right = c.agreement(self.point)
        for code, used, made, values in (
            (c.TOKEN_WRITE_PROTECTED, key, right, {c.TOKEN: True}), (c.TEMPLATE_INCONSISTENT, key, right, {c.CLASS: c.PRIVATE_KEY}),
            (c.TEMPLATE_INCONSISTENT, key, right, {c.KEY_TYPE: c.KEY_RSA}), (c.TEMPLATE_INCONSISTENT, key, right, {c.VALUE: b"mine"}),
            (c.ATTRIBUTE_VALUE_INVALID, key, right, {c.VALUE_LEN: b"\0"}), (c.ATTRIBUTE_VALUE_INVALID, key, right, {c.LABEL: "x" * 257}),
            (c.MECHANISM_PARAM_INVALID, key, c.agreement(self.point, kdf=2), {}), (c.MECHANISM_PARAM_INVALID, key, c.agreement(self.point, shared=b"x"), {}),
            (c.MECHANISM_PARAM_INVALID, key, c.agreement(b""), {}), (c.MECHANISM_PARAM_INVALID, key, c.agreement(bytes(257)), {}),
            (c.MECHANISM_PARAM_INVALID, key, c.mechanism(c.ECDH), {}), (c.MECHANISM_INVALID, key, c.mechanism(c.ECDSA), {}),
            (c.KEY_TYPE_INCONSISTENT, legacy, right, {}), (c.KEY_HANDLE_INVALID, 9999, right, {}),
        ):
            self.assert_code(code, self.module.derive, session, used, made, values)
        self.assertEqual(self.events("derive"), [])
        self.assert_code(c.MECHANISM_PARAM_INVALID, self.module.derive, session, key, c.agreement(b"\4" + bytes(64)))
        self.assert_code(c.TEMPLATE_INCONSISTENT, self.module.derive, session, key, right, {c.VALUE_LEN: 33})


class RefusalTests(Tests):
    def test_each_code_of_the_door_is_the_hosts(self):
        session = self.begin()
        key = self.module.key(session, "work")
        known = (c.FUNCTION_REJECTED, c.FUNCTION_CANCELED, c.PIN_LOCKED, c.KEY_HANDLE_INVALID, c.KEY_FUNCTION_NOT_PERMITTED, c.MECHANISM_INVALID,
                 c.MECHANISM_PARAM_INVALID, c.DATA_INVALID, c.DATA_LEN_RANGE, c.ENCRYPTED_DATA_INVALID, c.ENCRYPTED_DATA_LEN_RANGE, c.DEVICE_MEMORY,
                 c.DEVICE_ERROR, c.FUNCTION_FAILED)
        # One that is not in the table could make the host do something else: begin again, or ask for a PIN.
        unknown = (c.BUFFER_TOO_SMALL, c.USER_NOT_LOGGED_IN, c.NOT_INITIALIZED, 0x80000000, 0xA0)
        for sent, expected in [(each, each) for each in known] + [(each, c.FUNCTION_FAILED) for each in unknown]:
            self.end_door()
            self.start_door(refuse={"sign": sent})
            self.assertEqual(self.module.begin(session, c.ECDSA, key), c.OK)
            self.assert_code(expected, self.module.sign, session, bytes(32))


class ThreadTests(Tests):
    plan = {"standing": ["work"]}

    def test_a_question_delays_no_other_session(self):
        session, other = self.begin(), self.module.open()
        work, legacy = self.module.key(session, "work"), self.module.key(session, "legacy")
        standing = self.in_thread(self.module.sign_all, session, c.ECDSA, work, bytes(32))
        self.wait_for(lambda: self.events("sign"))
        for _ in range(20):
            self.assertEqual(len(self.module.sign_all(other, c.SHA256_RSA, legacy, b"message")), 256)
            self.assertEqual(len(self.module.find(other)), 7)
        self.assertTrue(standing.is_alive())
        self.assertEqual(len(self.events("connected")), 1)
        # The session itself has one call at a time.
        self.assertEqual(self.module.begin(session, c.ECDSA, work), c.OPERATION_ACTIVE)

    def end_question(self, end, seconds):
        session = self.begin()
        work = self.module.key(session, "work")
        standing = self.in_thread(self.module.sign_all, session, c.ECDSA, work, bytes(32))
        self.wait_for(lambda: self.events("sign"))
        began = time.monotonic()
        self.assertEqual(end(session), c.OK)
        standing.join(30)
        self.assertFalse(standing.is_alive())
        self.assertEqual(standing.result, c.FUNCTION_CANCELED)
        self.assertLess(time.monotonic() - began, seconds)
        return session, work

    def test_a_question_ends_when_its_session_is_closed(self):
        self.end_question(lambda session: self.module.C_CloseSession(c_ulong(session)), 5)
        self.wait_for(lambda: self.events("cancel"))
        self.module.open()

    def test_a_question_is_cancelled_alone(self):
        session, _ = self.end_question(lambda session: self.module.C_SessionCancel(c_ulong(session), c_ulong(1 << 11)), 5)
        self.wait_for(lambda: self.events("cancel"))
        self.assertEqual(len(self.module.sign_all(session, c.SHA256_RSA, self.module.key(session, "legacy"), b"message")), 256)
        self.assertEqual(len(self.events("connected")), 1)

    def test_the_end_of_the_module_ends_all_questions(self):
        self.end_question(lambda session: self.module.C_Finalize(None), 5)
        self.wait_for(lambda: self.events("ended"))
        self.assertEqual(self.module.initialize(), c.OK)
        self.assertEqual(len(self.module.find(self.module.open())), 7)

    def test_more_threads_than_the_door_takes_requests(self):
        self.end_door()
        self.start_door(question=0.05)
        session = self.begin()
        legacy = self.module.key(session, "legacy")
        sign = lambda: [len(self.module.sign_all(self.module.open(), c.SHA256_RSA, legacy, b"message")) for _ in range(3)]
        threads = [self.in_thread(sign) for _ in range(40)]
        for thread in threads:
            thread.join(120)
            self.assertEqual(thread.result, [256] * 3)
        self.assertEqual(len(self.events("connected")), 1)
        self.assertEqual(self.events("malformed"), [])

    def test_threads_find_and_sign_at_once(self):
        self.end_door()
        self.start_door(page=2)
        session = self.begin()
        work = self.module.key(session, "work")

        def use():
            own = self.module.open()
            for _ in range(10):
                if len(self.module.find(own, token=True)) != 7 or len(self.module.sign_all(own, c.ECDSA, work, bytes(32))) != 64:
                    return "wrong"
            return self.module.C_CloseSession(c_ulong(own))
        threads = [self.in_thread(use) for _ in range(12)]
        for thread in threads:
            thread.join(120)
            self.assertEqual(thread.result, c.OK)

    def test_signals_of_the_host_end_no_question(self):
        self.end_door()
        self.start_door(question=1)
        session = self.begin()
        work = self.module.key(session, "work")
        count = []
        signal.signal(signal.SIGALRM, lambda *_: count.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        signature = self.module.sign_all(session, c.ECDSA, work, bytes(32))
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.verify(signature, bytes(32))


class ForkTests(Tests):
    plan = {"standing": ["ed"]}

    def test_a_child_begins_again_with_a_connection_of_its_own(self):
        session = self.begin()
        work = self.module.key(session, "work")

        def child():
            self.assert_code(c.NOT_INITIALIZED, self.module.open)
            self.assertEqual(self.module.C_CloseSession(c_ulong(session)), c.NOT_INITIALIZED)
            self.assertEqual(self.module.initialize(), c.OK)
            own = self.module.open()
            key = self.module.key(own, "work")
            self.verify(self.module.sign_all(own, c.ECDSA, key, bytes(32)), bytes(32))
            self.assertEqual(self.module.C_Finalize(None), c.OK)
        self.in_child(child)
        self.verify(self.module.sign_all(session, c.ECDSA, work, bytes(32)), bytes(32))
        connected = [each["peer"] for each in self.events("connected")]
        self.assertEqual((len(connected), connected[0]), (2, os.getpid()))
        self.assertNotEqual(connected[1], os.getpid())
        self.assertEqual(self.events("foreign"), [])
        self.assertEqual(self.events("ended", peer=os.getpid()), [])

    def test_a_child_has_no_descriptor_of_the_parents_connection(self):
        session = self.begin()
        self.module.find(session)
        ours = self.sockets()
        self.assertEqual(len(ours), 1)
        self.in_child(lambda: self.assertEqual(self.sockets(), {}))
        self.assertEqual(self.sockets(), ours)
        self.assertEqual(len(self.module.find(session)), 7)

    def sockets(self):
        """The sockets of this process by their numbers."""
        found = {}
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/self/fd/{number}")
                if target.startswith("socket:"):
                    found[int(number)] = target
        return found

    def test_a_child_that_ends_does_not_end_the_parents_connection(self):
        session = self.begin()
        self.module.find(session)
        for end in (lambda: None, lambda: self.module.C_Finalize(None)):
            self.in_child(end)
        self.assertEqual(len(self.module.find(session)), 7)
        self.assertEqual(len(self.events("connected")), 1)

    def test_a_fork_beside_a_question(self):
        session, other = self.begin(), self.module.open()
        ed, work = self.module.key(session, "ed"), self.module.key(session, "work")
        standing = self.in_thread(self.module.sign_all, session, c.EDDSA, ed, b"message")
        self.wait_for(lambda: self.events("sign"))

        def child():
            self.assertEqual(self.module.initialize(), c.OK)
            own = self.module.open()
            self.verify(self.module.sign_all(own, c.ECDSA, self.module.key(own, "work"), bytes(32)), bytes(32))
        self.in_child(child)
        self.assertTrue(standing.is_alive())
        self.verify(self.module.sign_all(other, c.ECDSA, work, bytes(32)), bytes(32))
        self.assertEqual(self.events("foreign"), [])

    def test_forks_at_any_moment(self):
        self.end_door()
        self.start_door()
        session = self.begin()
        work = self.module.key(session, "work")
        over = threading.Event()

        def use():
            own = self.module.open()
            while not over.is_set():
                self.module.find(own)
                self.module.sign_all(own, c.ECDSA, work, bytes(32))
        threads = [self.in_thread(use) for _ in range(4)]

        def child():
            self.assertEqual(self.module.initialize(), c.OK)
            self.assertEqual(len(self.module.find(self.module.open())), 7)
        for _ in range(30):
            self.in_child(child)
        over.set()
        for thread in threads:
            thread.join(60)
        self.verify(self.module.sign_all(session, c.ECDSA, work, bytes(32)), bytes(32))
        self.assertEqual(self.events("foreign") + self.events("malformed"), [])

    @unittest.skipIf(SYS_clone is None, "the number of clone is not known for this machine")
    def test_a_process_that_was_made_without_fork_is_noticed(self):
        session = self.begin()
        self.module.find(session)
        number = list(self.sockets())[0]
        libc = ctypes.CDLL(None, use_errno=True)
        reading, writing = os.pipe()
        child = libc.syscall(SYS_clone, signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            # Nothing but the module: Python does not know that it is another process.
            code = self.module.C_CloseSession(c_ulong(session))
            is_closed = libc.fcntl(number, 1) < 0
            os.write(writing, f"{code} {is_closed}".encode())
            os._exit(0)
        os.close(writing)
        self.assertEqual(os.read(reading, 100).decode(), f"{c.NOT_INITIALIZED} True")
        os.waitpid(child, 0)
        self.assertEqual(len(self.module.find(session)), 7)
        self.assertEqual(self.events("foreign"), [])


class DescriptorTests(Tests):
    plan = {"standing": ["ed"]}

    def number(self):
        (found,) = [int(each) for each in os.listdir("/proc/self/fd") if self.target(each).startswith("socket:")]
        return found

    def target(self, number):
        try:
            return os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            return ""

    def test_a_descriptor_is_closed_in_programs_that_the_host_starts(self):
        session = self.begin()
        self.module.find(session)
        self.assertFalse(os.get_inheritable(self.number()))

    def test_it_is_never_one_of_the_standard_descriptors(self):
        session = self.begin()
        kept = os.dup(2)
        for number in (0, 1, 2):
            os.close(number)
        self.module.find(session)
        closed = [self.target(number) for number in (0, 1, 2)]
        os.dup2(kept, 2)
        self.assertEqual([each for each in closed if each.startswith("socket:")], [])

    def test_a_host_that_closes_all_descriptors_gets_a_new_connection(self):
        session = self.begin()
        work = self.module.key(session, "work")
        os.close(self.number())
        self.verify(self.module.sign_all(session, c.ECDSA, work, bytes(32)), bytes(32))
        self.assertEqual(len(self.events("connected")), 2)

    def replace(self, kind):
        """Puts something of the host's in the place of the module's descriptor."""
        number = self.number()
        if kind == "file":
            made = os.open(f"{self.folder}/mine", os.O_RDWR | os.O_CREAT)
            other = None
        else:
            pair = socket.socketpair()
            made, other = pair[0].detach(), pair[1]
        os.dup2(made, number)
        os.close(made)
        return number, other

    def test_a_file_of_the_hosts_gets_no_bytes_and_stays_open(self):
        for kind in ("file", "socket"):
            with self.subTest(kind):
                session = self.begin() if kind == "file" else self.module.open()
                work = self.module.key(session, "work")
                number, other = self.replace(kind)
                self.verify(self.module.sign_all(session, c.ECDSA, work, bytes(32)), bytes(32))
                self.module.C_CloseSession(c_ulong(session))
                if kind == "file":
                    self.assertEqual(os.fstat(number).st_size, 0)
                else:
                    other.setblocking(False)
                    with self.assertRaises(BlockingIOError):
                        other.recv(1)
                os.fstat(number)
                if kind == "file":
                    os.close(number)
        self.assertEqual(self.module.C_Finalize(None), c.OK)
        os.fstat(number)
        self.in_child(lambda: os.fstat(number))

    def test_a_descriptor_that_is_taken_within_a_question(self):
        session = self.begin()
        ed = self.module.key(session, "ed")
        standing = self.in_thread(self.module.sign_all, session, c.EDDSA, ed, b"message")
        self.wait_for(lambda: self.events("sign"))
        number, other = self.replace("socket")
        standing.join(30)
        self.assertEqual(standing.result, c.DEVICE_ERROR)
        other.setblocking(False)
        with self.assertRaises(BlockingIOError):
            other.recv(1)
        os.fstat(number)
        self.assertEqual(len(self.module.find(session)), 7)

    def test_a_child_leaves_the_hosts_file_in_the_descriptors_place(self):
        session = self.begin()
        self.module.find(session)
        number, _ = self.replace("file")
        self.in_child(lambda: os.fstat(number))
        os.fstat(number)


class BrokenDoorTests(Tests):
    plan = {}

    def expect_error_and_recovery(self, session, key, call, **plan):
        """A call fails with a broken door, and soon; the next one works with another door."""
        self.end_door()
        self.start_door(**plan)
        began = time.monotonic()
        self.assert_code(c.DEVICE_ERROR, call)
        self.assertLess(time.monotonic() - began, 10)
        self.end_door()
        self.start_door()
        self.module.C_SessionCancel(c_ulong(session), c_ulong(0xFFFFFFFF))
        self.verify(self.module.sign_all(session, c.ECDSA, key, bytes(32)), bytes(32))

    def prepared(self):
        session = self.begin()
        work, legacy = self.module.key(session, "work"), self.module.key(session, "legacy")
        point = ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        return session, work, {
            "hello": lambda: self.module.sign_all(session, c.ECDSA, work, bytes(32)),
            "objects": lambda: self.module.find(session),
            "update": lambda: self.module.sign_all(session, c.ECDSA_SHA256, work, bytes(50_000)),
            "sign": lambda: self.module.sign_all(session, c.ECDSA, work, bytes(32)),
            "decrypt": lambda: self.module.decrypt(session, c.RSA_PKCS, legacy, bytes(256)),
            "derive": lambda: self.module.derive(session, work, c.agreement(point)),
        }

    def test_a_killed_door_is_an_error_and_the_next_call_connects_again(self):
        session, work, calls = self.prepared()
        for name, call in calls.items():
            with self.subTest(name):
                self.expect_error_and_recovery(session, work, call, die_at=name)

    def test_a_door_that_hangs_up(self):
        session, work, calls = self.prepared()
        for name, call in calls.items():
            with self.subTest(name):
                self.expect_error_and_recovery(session, work, call, hang_up_at=name)

    def test_a_door_that_says_nothing(self):
        session, work, calls = self.prepared()
        for name in ("hello", "objects", "update"):
            with self.subTest(name):
                self.expect_error_and_recovery(session, work, calls[name], silent=[name])

    def test_a_door_that_ended_while_nothing_was_asked_is_not_noticed(self):
        session = self.begin()
        work = self.module.key(session, "work")
        self.end_door()
        self.start_door()
        self.verify(self.module.sign_all(session, c.ECDSA, work, bytes(32)), bytes(32))

    def test_no_door_at_all(self):
        session = self.begin()
        work = self.module.key(session, "work")
        self.end_door()
        self.assert_code(c.DEVICE_ERROR, self.module.find, session)
        self.assert_code(c.DEVICE_ERROR, self.module.sign_all, session, c.ECDSA, work, bytes(32))

    def test_a_signature_with_parts_does_not_go_on_at_another_door(self):
        session = self.begin()
        work = self.module.key(session, "work")
        self.assertEqual(self.module.begin(session, c.ECDSA_SHA256, work), c.OK)
        self.assertEqual(self.module.update(session, b"first"), c.OK)
        self.end_door()
        self.start_door()
        self.assertEqual(self.module.update(session, b"second"), c.DEVICE_ERROR)
        self.assert_code(c.OPERATION_NOT_INITIALIZED, self.module.final, session)

    def test_a_broken_door_brings_no_signal(self):
        # Python ignores it.
        self.assertEqual(signal.signal(signal.SIGPIPE, signal.SIG_DFL), signal.SIG_IGN)
        session, work, calls = self.prepared()
        self.expect_error_and_recovery(session, work, calls["sign"], deaf=True)

    def test_messages_that_are_none(self):
        session, work, calls = self.prepared()
        # The number of no request.
        short = "000000058300000000"
        wrong = {
            # Another version, another number, something behind it, another kind, too short, too long, a number's half.
            "hello": ["000000068100000000" + "02", "000000068100000001" + "01", "000000078100000000" + "0101", "000000068300000000" + "01",
                      "0000000581" + "00000000", "00010001" + "81", "00000000", "00000004" + "81000000", "ffffffff"],
            "objects": [
                # The kind of another answer; no number; a number that nobody used.
                "0000000583NUMBER", "0000000b8200000000" + "000000000000", "0000000b82000000ff" + "000000000000",
                # No page; a page with something behind it; fewer objects than it says.
                "0000000a82NUMBER" + "0000000000", "0000000c82NUMBER" + "00000000000000", "0000000b82NUMBER" + "000000000001",
                # Half an object; an object without a class; an attribute that is longer than the page.
                "0000001c82NUMBER" + "000000000001" + "03" * 17, "0000002082NUMBER" + "000000000001" + "03" * 18 + "000000",
                "0000002782NUMBER" + "000000000001" + "03" * 18 + "000001" + "00000003" + "01" + "0005",
                # A number of four bytes; an unknown form; the class twice; a class of bytes.
                "0000002b82NUMBER" + "000000000001" + "03" * 18 + "000001" + "00000000" + "02" + "0004" + "00000003",
                "0000002f82NUMBER" + "000000000001" + "03" * 18 + "000001" + "00000000" + "03" + "0008" + "0000000000000003",
                "0000003e82NUMBER" + "000000000001" + "03" * 18 + "000002" + ("00000000" + "02" + "0008" + "0000000000000003") * 2,
                "0000002882NUMBER" + "000000000001" + "03" * 18 + "000001" + "00000000" + "01" + "0001" + "03",
            ],
            "update": ["0000000582NUMBER", short],
            "sign": [
                # A refusal of nothing; half a refusal; a signature that is longer than one; two answers in a wrong order of fields.
                "0000000984NUMBER" + "00000000", "0000000784NUMBER" + "0030", "0000004683NUMBER" + "00" * 65, "0000000681NUMBER" + "01", short,
            ],
            "decrypt": ["0000010683NUMBER" + "00" * 257, "0000000582NUMBER"],
            "derive": ["0000000582NUMBER", "0000000583NUMBER", "0000008a83NUMBER" + "00" * 133],
        }
        for name, frames in wrong.items():
            for each in frames:
                with self.subTest(name, frame=each[:60]):
                    self.expect_error_and_recovery(session, work, calls[name], raw={name: each})
        # The module hangs up each time, so the door that says such things gets nothing more.
        self.assertGreaterEqual(len(self.events("connected")), sum(len(frames) for frames in wrong.values()))

    def test_changed_lists_break_nothing(self):
        """Lists with changed, missing and additional bytes: each is a list or an error, and the module goes on."""
        dice = random.Random(11)
        door = fake_door.Door(self.socket, self.log, {})
        page = fake_door.struct.pack(">IH", 0, 7) + b"".join(door.objects())
        session = self.begin()
        for _ in range(60 if KIND == "plain" else 25):
            changed = bytearray(page)
            for _ in range(dice.randrange(1, 4)):
                place = dice.randrange(len(changed))
                way = dice.randrange(3)
                if way == 0:
                    changed[place] ^= 1 << dice.randrange(8)
                elif way == 1:
                    del changed[place:place + dice.randrange(1, 40)]
                else:
                    changed[place:place] = dice.randbytes(dice.randrange(1, 20))
            self.end_door()
            body = f"{5 + len(changed):08x}82NUMBER" + bytes(changed).hex()
            self.start_door(raw={"objects": body})
            try:
                handles = self.module.find(session)
            except c.Failure as failure:
                self.assertEqual(failure.code, c.DEVICE_ERROR)
                continue
            for handle in handles:
                for kind in (c.CLASS, c.LABEL, c.ID, c.ALLOWED_MECHANISMS, c.VALUE):
                    with contextlib.suppress(c.Failure):
                        self.module.get(session, handle, kind)

    def test_a_late_answer_is_nobodys(self):
        self.end_door()
        self.start_door(standing=["ed"])
        session = self.begin()
        ed, work = self.module.key(session, "ed"), self.module.key(session, "work")
        standing = self.in_thread(self.module.sign_all, session, c.EDDSA, ed, b"message")
        self.wait_for(lambda: self.events("sign"))
        self.module.C_SessionCancel(c_ulong(session), c_ulong(1 << 11))
        standing.join(30)
        # The door answers the cancelled request now, and the next one after it.
        for _ in range(5):
            self.verify(self.module.sign_all(session, c.ECDSA, work, bytes(32)), bytes(32))
        self.assertEqual(len(self.events("connected")), 1)


class PlaceTests(Tests):
    def expect_nobody(self):
        """Nothing is sent: the door that is there sees no connection."""
        before = len(self.events("connected"))
        session = self.begin()
        self.assert_code(c.DEVICE_ERROR, self.module.find, session)
        self.assertEqual(len(self.events("connected")), before)

    def test_a_folder_that_others_may_enter_is_not_used(self):
        os.chmod(self.runtime, 0o750)
        # Then the folder is the one below the home; nobody listens there.
        self.expect_nobody()

    def test_a_folder_of_the_door_that_others_may_enter_is_not_used(self):
        os.chmod(f"{self.runtime}/ostiary", 0o711)
        self.expect_nobody()

    def test_a_link_is_not_followed(self):
        os.rename(self.runtime, f"{self.folder}/elsewhere")
        os.symlink(f"{self.folder}/elsewhere", self.runtime)
        self.expect_nobody()

    def test_a_link_in_the_sockets_place_is_not_followed(self):
        os.rename(self.socket, self.socket + ".other")
        os.symlink(self.socket + ".other", self.socket)
        self.expect_nobody()

    def test_a_path_that_is_not_absolute_is_not_used(self):
        os.chdir(self.folder)
        os.environ["XDG_RUNTIME_DIR"] = "run"
        self.expect_nobody()

    @unittest.skipUnless(IS_ROOT, "needs another user")
    def test_a_socket_of_another_user_is_not_used(self):
        os.chown(self.socket, 1, 1)
        self.expect_nobody()

    @unittest.skipUnless(IS_ROOT, "needs another user")
    def test_another_user_who_listens_gets_nothing(self):
        os.unlink(self.socket)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(self.socket)
            os.setresuid(1, 1, 1)
            # SO_PEERCRED is that of the process which listens.
            listener.listen()
            os.write(writing, b".")
            connection, _ = listener.accept()
            os.write(writing, f"{len(connection.recv(100))}".encode())
            os._exit(0)
        os.read(reading, 1)
        session = self.begin()
        self.assert_code(c.DEVICE_ERROR, self.module.find, session)
        self.assertEqual(os.read(reading, 10), b"0")
        os.waitpid(child, 0)


class StartTests(Tests):
    plan = None

    def prepare(self, text):
        """What the program does that is started in the door's place."""
        with open(STARTED + ".do", "w") as file:
            values = {"FOLDER": self.folder, "HERE": HERE, "PYTHON": sys.executable, "SOCKET": self.socket, "LOG": self.log}
            file.write(" ".join(f"{name}={shlex.quote(value)}" for name, value in values.items()) + f"\n{text}\n")

    serve = 'setsid "$PYTHON" -B "$HERE/fake_door.py" "$SOCKET" "$LOG" "{}" > /dev/null 2>&1 &\n' \
        'echo $! > "$FOLDER/started"; while [ ! -S "$SOCKET" ] && [ -d "$FOLDER" ]; do sleep 0.02; done; sleep 0.1'

    def test_the_door_is_started_at_the_first_use(self):
        self.prepare('cat /proc/self/status > "$FOLDER/status"; ls -l /proc/self/fd > "$FOLDER/descriptors"; env > "$FOLDER/environment"\n'
                     'ps -o pid=,sid= -p $$ > "$FOLDER/session"; echo "$0 $@" > "$FOLDER/arguments"\n' + self.serve)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        os.environ["LD_LIBRARY_PATH"] = "/nonexistent"
        kept = os.open("/dev/null", os.O_RDONLY)
        os.set_inheritable(kept, True)
        session = self.begin()
        self.assertFalse(os.path.exists(f"{self.folder}/started"))
        self.assertEqual(len(self.module.find(session)), 7)

        def text(name):
            with open(f"{self.folder}/{name}") as file:
                return file.read()
        # The shell and ls have opened some themselves.
        self.assertNotIn(f" {kept} -> /dev/null", text("descriptors"))
        status = dict(line.split(":\t") for line in text("status").splitlines() if ":\t" in line)
        # 32 and 33 are the C library's own.
        self.assertEqual((int(status["SigBlk"], 16), int(status["SigIgn"], 16) & ~(3 << 31)), (0, 0))
        names = {line.split("=")[0] for line in text("environment").splitlines()} - {"_", "SHLVL", "PWD", "OLDPWD"}
        self.assertEqual(names, {"PATH", "LANG", "SWIFT_BACKTRACE", "XDG_RUNTIME_DIR"})
        self.assertEqual(*text("session").split())
        self.assertEqual(text("arguments"), f"{STARTED} --detach\n")
        # No zombie, and no child at all.
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_a_host_that_reaps_all_children_itself(self):
        self.prepare(self.serve)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self.assertEqual(len(self.module.find(self.begin())), 7)

    def test_a_host_without_standard_descriptors(self):
        self.prepare(self.serve)
        session = self.begin()
        kept = os.dup(2)
        for number in (0, 1, 2):
            os.close(number)
        try:
            found = self.module.find(session)
        finally:
            os.dup2(kept, 2)
        self.assertEqual(len(found), 7)

    def test_a_door_that_does_not_start(self):
        for text in ("exit 1", "exit 0", "kill -9 $$", "sleep 100"):
            with self.subTest(text):
                self.prepare(text)
                session = self.begin() if text == "exit 1" else self.module.open()
                began = time.monotonic()
                self.assert_code(c.DEVICE_ERROR, self.module.find, session)
                self.assertLess(time.monotonic() - began, 10)
                with self.assertRaises(ChildProcessError):
                    os.waitpid(-1, os.WNOHANG)

    def test_several_threads_start_one_door(self):
        self.prepare(self.serve)
        self.begin()
        threads = [self.in_thread(lambda: len(self.module.find(self.module.open()))) for _ in range(8)]
        for thread in threads:
            thread.join(60)
            self.assertEqual(thread.result, 7)
        self.assertEqual(len(self.events("listening")), 1)

    def test_a_door_that_another_program_is_about_to_serve(self):
        # The other one serves already, where nobody looks: how fast it starts is of no account.
        place, self.socket = self.socket, f"{self.runtime}/ostiary/elsewhere"
        self.start_door()
        # This one ends at once, as one does that finds the place taken.
        self.prepare(f'(sleep 0.2; mv "{self.socket}" "{place}") & exit 1')
        self.socket = place
        self.assertEqual(len(self.module.find(self.begin())), 7)

    def test_the_service_manager_starts_it_where_there_is_one(self):
        self.prepare('echo "$0 $@" >> "$FOLDER/arguments"; [ "$2" = start ] || exit 1\n' + self.serve)
        os.makedirs(f"{self.runtime}/systemd/private")
        self.assertEqual(len(self.module.find(self.begin())), 7)
        with open(f"{self.folder}/arguments") as file:
            self.assertEqual(file.read(), f"{STARTED} --user start ostiary-pkcs11d.socket\n")

    def test_the_program_is_started_where_the_service_manager_fails(self):
        self.prepare('echo "$1" >> "$FOLDER/arguments"; [ "$1" = --detach ] || exit 1\n' + self.serve)
        os.makedirs(f"{self.runtime}/systemd/private")
        self.assertEqual(len(self.module.find(self.begin())), 7)
        with open(f"{self.folder}/arguments") as file:
            self.assertEqual(file.read(), "--user\n--detach\n")


@unittest.skipUnless(KIND == "plain", "other programs are not built with the sanitizers")
class ClientTests(Tests):
    """Programs of others."""

    def run_program(self, *command, inputs=None):
        if not shutil.which(command[0]):
            self.skipTest(f"{command[0]} is not installed")
        run = subprocess.run(command, capture_output=True, text=True, input=inputs, timeout=120, cwd=self.folder)
        return run.returncode, run.stdout + run.stderr

    def public_pem(self, index):
        key = fake_door.load_keys(self.folder)[index].private.public_key()
        path = f"{self.folder}/public-{index}.pem"
        with open(path, "wb") as file:
            file.write(key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
        return path

    def test_pkcs11_tool_lists_signs_and_derives(self):
        tool = ("pkcs11-tool", "--module", MODULE)
        status, said = self.run_program(*tool, "--list-objects")
        self.assertEqual(status, 0, said)
        for text in ("Private Key Object; EC", "Private Key Object; RSA", "Certificate Object", "label:      work"):
            self.assertIn(text, said)
        self.assertEqual(self.run_program(*tool, "--list-slots")[0], 0)
        self.assertEqual(self.run_program(*tool, "--list-mechanisms")[0], 0)
        with open(f"{self.folder}/data", "wb") as file:
            file.write(bytes(100_000))
        status, said = self.run_program(*tool, "--sign", "--mechanism", "ECDSA-SHA256", "--label", "work", "--input-file", "data", "--output-file",
                                        "signature", "--signature-format", "openssl")
        self.assertEqual(status, 0, said)
        status, said = self.run_program("openssl", "dgst", "-sha256", "-verify", self.public_pem(0), "-signature", "signature", "data")
        self.assertEqual((status, said), (0, "Verified OK\n"))
        other = ec.generate_private_key(ec.SECP256R1())
        with open(f"{self.folder}/other.der", "wb") as file:
            file.write(other.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))
        status, said = self.run_program(*tool, "--derive", "--mechanism", "ECDH1-DERIVE", "--label", "work", "--input-file", "other.der", "--output-file", "shared")
        self.assertEqual(status, 0, said)
        with open(f"{self.folder}/shared", "rb") as file:
            self.assertEqual(file.read(), other.exchange(ec.ECDH(), fake_door.load_keys(self.folder)[0].private.public_key()))

    def test_pkcs11_tools_own_test(self):
        self.end_door()
        self.start_door(only=["work"])
        status, said = self.run_program("pkcs11-tool", "--module", MODULE, "--test")
        self.assertEqual(status, 0, said)
        self.assertIn("No errors", said)

    def test_pkcs11_tool_decrypts(self):
        with open(f"{self.folder}/sealed", "wb") as file:
            file.write(fake_door.load_keys(self.folder)[1].private.public_key().encrypt(b"secret", padding.PKCS1v15()))
        status, said = self.run_program("pkcs11-tool", "--module", MODULE, "--decrypt", "--mechanism", "RSA-PKCS", "--id",
                                        fake_door.load_keys(self.folder)[1].key_id.hex(), "--input-file", "sealed", "--output-file", "opened")
        self.assertEqual(status, 0, said)
        with open(f"{self.folder}/opened", "rb") as file:
            self.assertEqual(file.read(), b"secret")

    def test_p11tool_lists_and_signs(self):
        status, said = self.run_program("p11tool", "--provider", MODULE, "--list-all", "pkcs11:token=Ostiary")
        self.assertEqual(status, 0, said)
        self.assertIn("object=work;type=private", said)
        self.assertIn("object=work;type=cert", said)
        for label in ("work", "legacy"):
            status, said = self.run_program("p11tool", "--provider", MODULE, "--test-sign", f"pkcs11:token=Ostiary;object={label};type=private")
            self.assertEqual(status, 0, said)

    def test_openssh_reads_keys_and_signs_certificates(self):
        status, said = self.run_program("ssh-keygen", "-D", MODULE)
        self.assertEqual(status, 0, said)
        lines = [line for line in said.splitlines() if line.startswith(("ecdsa-sha2-nistp256 ", "ssh-rsa "))]
        self.assertEqual({line.split()[0] for line in lines}, {"ecdsa-sha2-nistp256", "ssh-rsa"})
        self.run_program("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "user")
        for line in lines:
            with open(f"{self.folder}/authority.pub", "w") as file:
                file.write(line + "\n")
            status, said = self.run_program("ssh-keygen", "-D", MODULE, "-s", "authority.pub", "-I", "me", "user.pub")
            self.assertEqual(status, 0, said)
            status, said = self.run_program("ssh-keygen", "-L", "-f", "user-cert.pub")
            self.assertIn("Signing CA", said)

    def test_nss_lists_without_a_question(self):
        database = f"sql:{self.folder}/nss"
        os.mkdir(f"{self.folder}/nss")
        self.assertEqual(self.run_program("certutil", "-N", "-d", database, "--empty-password")[0], 0)
        status, said = self.run_program("modutil", "-dbdir", database, "-add", "Ostiary", "-libfile", MODULE, "-force", inputs="\n")
        self.assertEqual(status, 0, said)
        status, said = self.run_program("modutil", "-dbdir", database, "-list", "Ostiary")
        self.assertIn("Token Name: Ostiary", said)
        status, said = self.run_program("certutil", "-L", "-d", database, "-h", "Ostiary")
        self.assertEqual(status, 0, said)
        self.assertIn("Ostiary:work", said)
        status, said = self.run_program("certutil", "-K", "-d", database, "-h", "Ostiary")
        self.assertEqual(status, 0, said)
        self.assertEqual([line.split()[-1] for line in said.splitlines()[1:]], ["work", "legacy", "ed"])
        self.assertEqual(self.events("sign"), [])

    def test_gnutls_shows_the_key_to_a_server(self):
        """A client certificate whose key is behind the module, against OpenSSL's server."""
        if not shutil.which("gnutls-cli") or not shutil.which("openssl"):
            self.skipTest("gnutls-cli and openssl are not installed")
        self.assertEqual(self.run_program("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "server.key",
                                          "-out", "server.pem", "-subj", "/CN=localhost", "-days", "10")[0], 0)
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        server = subprocess.Popen(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", "server.pem", "-key", "server.key", "-Verify", "1", "-www", "-naccept", "1"],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            while "ACCEPT" not in server.stdout.readline():
                self.assertIsNone(server.poll(), "the server has ended")
            status, said = self.run_program(
                "gnutls-cli", "--provider", MODULE, "--no-ca-verification", "--x509certfile", "pkcs11:token=Ostiary;object=work;type=cert", "--x509keyfile",
                "pkcs11:token=Ostiary;object=work;type=private", "-p", str(port), "127.0.0.1", inputs="GET / HTTP/1.0\r\n\r\n")
            self.assertIn("Handshake was completed", said)
        finally:
            server.kill()
            told, _ = server.communicate()
        self.assertEqual(len(self.events("sign")), 1, told)


if __name__ == "__main__":
    unittest.main()
