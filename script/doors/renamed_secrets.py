"""Stands in for libsecret's played service: renamed_secrets.py SERVICE FIXTURE, with FIXTURE as mock-service-NAME.py.

The suites of libsecret and SecretStorage name objects by fixed paths (collection/english/1), and our service makes paths by itself. So this
program starts our service, makes the objects that the fixture has, and passes each call on to the service with the paths renamed,
and each answer and signal back. It answers nothing itself, except that `only-plain` refuses encrypted sessions, as that fixture does. The
fixture's prompts stand for one of ours, which opens a collection; while that of the name `vanish` is shown, the service is killed.

It prints its name on the bus, ends the service with itself, and ends with the service.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time

from jeepney import Header, HeaderFields, Message, MessageFlag, MessageType, DBusAddress, new_error, new_method_call
from jeepney.io.blocking import open_dbus_connection

SERVICE = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
PLAYED_PROMPTS = ROOT + "/prompts/"
BUS = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
PREFIX = "org.freedesktop.Secret."
ENCRYPTED = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
PR_SET_PDEATHSIG = 1

MOCK, PRIMES = {"xdg:schema": "org.mock.Schema"}, {"xdg:schema": "org.mock.Primes"}
# Of each collection: label, whether it is locked, and its items with label, secret and attributes.
STANDARD = {
    "english": ("Collection One", False, {
        "1": ("Item One", "111", {"number": "1", "string": "one", "even": "false", **MOCK}),
        "2": ("Item Two", "222", {"number": "2", "string": "two", "even": "true", **MOCK}),
        "3": ("Item Three", "333", {"number": "3", "string": "three", "even": "false", **MOCK}),
    }),
    "spanish": ("Collection", True, {
        "10": ("Item", "111", {"number": "1", "string": "uno", "even": "false", **MOCK}),
        "20": ("Item", "222", {"number": "2", "string": "dos", "even": "true", **MOCK}),
        "30": ("Item", "3333", {"number": "3", "string": "tres", "even": "false", **MOCK}),
    }),
    "german": ("Collection", True, {
        "300": ("Item", "333", {"number": "3", "string": "drei", "prime": "true", **PRIMES}),
        "400": ("Item", "444", {"number": "4", "string": "vier", "prime": "false", **PRIMES}),
        "500": ("Item", "555", {"number": "5", "string": "fuenf", "prime": "true", **PRIMES}),
        "600": ("Item", "666", {"number": "6", "string": "sechs", "prime": "false", **PRIMES}),
    }),
    "empty": ("Collection", False, {}),
}
DEFAULT = "english"
ITEM = ("Item", "uno", {"number": "1", "string": "one", "even": "false"})
CONFIRM = ("Item", "dos", {"number": "2", "string": "two", "even": "true"})
LOCKED = ("Item", "tres", {"number": "3", "string": "three", "even": "false"})
FIXTURES = {
    "normal": STANDARD,
    "only-plain": STANDARD,
    "prompt": STANDARD,
    "empty": {},
    "delete": STANDARD | {
        "todelete": ("Collection", False, {"item": ITEM, "confirm": CONFIRM}),
        "twodelete": ("Collection", True, {"locked": LOCKED}),
    },
    "lock": STANDARD | {
        "lockone": ("Collection", False, {"item": ITEM, "confirm": CONFIRM}),
        "lockprompt": ("Collection", True, {"locked": LOCKED}),
    },
}


class Names:
    """The fixture's names of objects, and the service's."""

    def __init__(self):
        self.ours, self.theirs = {}, {}

    def add(self, theirs, ours):
        self.ours[theirs], self.theirs[ours] = ours, theirs

    @staticmethod
    def _renamed(path, names):
        if path in names:
            return names[path]
        # An item that a case made, in a collection of the fixture.
        parent, _, name = path.rpartition("/")
        return f"{names[parent]}/{name}" if parent in names else path

    def inwards(self, path):
        return self._renamed(path, self.ours)

    def outwards(self, path):
        return self._renamed(path, self.theirs)


def complete_types(signature):
    """The complete types of a signature, one after the other."""
    start, depth, position = 0, 0, 0
    while position < len(signature):
        letter = signature[position]
        position += 1
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(letter, 0)
        if depth == 0 and letter != "a":
            yield signature[start:position]
            start = position


def renamed(kind, value, rename):
    """A value of a message with each object path in it renamed."""
    if kind == "o":
        return rename(value)
    if kind == "v":
        return (value[0], renamed(value[0], value[1], rename))
    if kind == "ay":
        return value
    if kind[:2] == "a{":
        key, content = complete_types(kind[2:-1])
        return {renamed(key, name, rename): renamed(content, each, rename) for name, each in value.items()}
    if kind[0] == "a":
        return [renamed(kind[1:], each, rename) for each in value]
    if kind[0] == "(":
        return tuple(renamed(part, each, rename) for part, each in zip(complete_types(kind[1:-1]), value))
    return value


def remade(message, rename, fields):
    """The message to somebody else: with renamed paths, and these fields of the header."""
    old = message.header
    kept = {HeaderFields.path, HeaderFields.interface, HeaderFields.member, HeaderFields.error_name, HeaderFields.signature}
    made = {field: value for field, value in old.fields.items() if field in kept}
    if HeaderFields.path in made:
        made[HeaderFields.path] = rename(made[HeaderFields.path])
    kinds = complete_types(made.get(HeaderFields.signature, ""))
    body = tuple(renamed(kind, value, rename) for kind, value in zip(kinds, message.body))
    header = Header(old.endianness, old.message_type, old.flags, old.protocol_version, 0, 0, {**made, **fields})
    return Message(header, body)


def address(path, interface):
    return DBusAddress(path, SERVICE, PREFIX + interface)


class Line:
    """A connection to the bus."""

    def __init__(self):
        self.connection = open_dbus_connection("SESSION")
        self.waiting = []

    def call(self, message):
        """Calls, and waits; what comes meanwhile waits, too."""
        serial = self.send(message)
        while True:
            answer = self.connection.receive(timeout=30)
            if answer.header.fields.get(HeaderFields.reply_serial) != serial:
                self.waiting.append(answer)
                continue
            if answer.header.message_type is MessageType.error:
                raise RuntimeError(f"{message.header.fields}: {answer.header.fields} {answer.body}")
            return answer.body

    def send(self, message):
        serial = next(self.connection.outgoing_serial)
        self.connection.send(message, serial=serial)
        return serial

    def match(self, rule):
        self.call(new_method_call(BUS, "AddMatch", "s", (rule,)))

    def messages(self):
        """What has come: at least once after the socket was readable."""
        self.connection.parser.add_data(self.connection.sock.recv(65536))
        while (message := self.connection.parser.get_next_message()) is not None:
            self.waiting.append(message)

    def taken(self):
        while self.waiting:
            yield self.waiting.pop(0)


class Caller(Line):
    """A program of the suite, as the service sees it: a connection of its own, so that sessions and prompts are its own."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.pending = {}
        self.prompts = Names()
        self.match(f"type='signal',sender='{SERVICE}'")


class Front:
    def __init__(self, program, fixture):
        self.fixture = fixture
        self.names = Names()
        self.callers = {}
        self.line = Line()
        self.selector = selectors.DefaultSelector()
        self.start(program)
        self.make_objects(FIXTURES[fixture])
        self.line.match("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'")
        self.watch(self.line)

    def watch(self, line):
        self.selector.register(line.connection.sock, selectors.EVENT_READ, line)

    # The service.

    def start(self, program):
        self.wait_for_name(False)
        libc = ctypes.CDLL(None)
        self.service = subprocess.Popen(
            [program], stdin=subprocess.DEVNULL, preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        )
        self.wait_for_name(True)

    def wait_for_name(self, wanted):
        deadline = time.monotonic() + 60
        while self.line.call(new_method_call(BUS, "NameHasOwner", "s", (SERVICE,)))[0] != wanted:
            if time.monotonic() > deadline:
                sys.exit(f"renamed_secrets.py: {SERVICE} {'has no' if wanted else 'still has an'} owner")
            time.sleep(0.01)

    def end(self):
        self.service.terminate()
        self.service.wait()

    # Its objects.

    def call(self, path, interface, member, signature="", *body):
        return self.line.call(new_method_call(address(path, interface), member, signature, body))

    def property(self, path, interface, name):
        properties = DBusAddress(path, SERVICE, "org.freedesktop.DBus.Properties")
        return self.line.call(new_method_call(properties, "Get", "ss", (PREFIX + interface, name)))[0][1]

    def make_objects(self, collections):
        login = ROOT + "/collection/login"
        for path in self.property(ROOT, "Service", "Collections"):
            if path not in (login, ROOT + "/collection/session"):
                self.call(path, "Collection", "Delete")
        for path in self.property(login, "Collection", "Items"):
            self.call(path, "Item", "Delete")
        session = self.call(ROOT, "Service", "OpenSession", "sv", "plain", ("s", ""))[1]
        for name, (label, is_locked, items) in collections.items():
            theirs = f"{ROOT}/collection/{name}"
            ours = self.make_collection(label)
            self.names.add(theirs, ours)
            for item, (item_label, secret, attributes) in items.items():
                self.names.add(f"{theirs}/{item}", self.make_item(ours, session, item_label, secret, attributes))
            if name == DEFAULT:
                self.call(ROOT, "Service", "SetAlias", "so", "default", ours)
            if is_locked:
                self.call(ROOT, "Service", "Lock", "ao", [ours])

    def make_collection(self, label):
        properties = {PREFIX + "Collection.Label": ("s", label)}
        return self.call(ROOT, "Service", "CreateCollection", "a{sv}s", properties, "")[0]

    def make_item(self, collection, session, label, secret, attributes):
        properties = {PREFIX + "Item.Label": ("s", label), PREFIX + "Item.Attributes": ("a{ss}", attributes)}
        parcel = (session, b"", secret.encode(), "text/plain")
        return self.call(collection, "Collection", "CreateItem", "a{sv}(oayays)b", properties, parcel, False)[0]

    # Messages.

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.data is self.line or key.data.name in self.callers:
                    key.data.messages()
            for message in self.line.taken():
                self.take(message)
            for caller in list(self.callers.values()):
                for message in caller.taken():
                    self.give(message, caller)

    def take(self, message):
        """A message to this program."""
        fields = message.header.fields
        if message.header.message_type is MessageType.method_call:
            self.pass_on(message, self.caller(fields[HeaderFields.sender]))
        elif fields.get(HeaderFields.member) == "NameOwnerChanged":
            name, _, owner = message.body
            if owner == "" and name == SERVICE:
                sys.exit("renamed_secrets.py: the service has ended")
            if owner == "" and name in self.callers:
                gone = self.callers.pop(name)
                self.selector.unregister(gone.connection.sock)
                gone.connection.close()

    def caller(self, name):
        if name not in self.callers:
            self.callers[name] = Caller(name)
            self.watch(self.callers[name])
        return self.callers[name]

    def pass_on(self, message, caller):
        """A call of the suite, to the service."""
        fields = message.header.fields
        path, member = fields[HeaderFields.path], fields[HeaderFields.member]
        if self.fixture == "only-plain" and member == "OpenSession" and message.body[0] == ENCRYPTED:
            return self.line.send(new_error(message, "org.freedesktop.DBus.Error.NotSupported"))
        if path.startswith(PLAYED_PROMPTS) and member == "Prompt":
            self.make_prompt(path, caller)
        inwards = remade(
            message, lambda path: self.names.inwards(caller.prompts.inwards(path)), {HeaderFields.destination: SERVICE}
        )
        serial = caller.send(inwards)
        if not message.header.flags & MessageFlag.no_reply_expected:
            caller.pending[serial] = message.header.serial
        if path == PLAYED_PROMPTS + "vanish":
            self.service.kill()

    def make_prompt(self, path, caller):
        locked = self.names.inwards(ROOT + "/collection/spanish")
        caller.prompts.add(path, caller.call(new_method_call(address(ROOT, "Service"), "Unlock", "ao", ([locked],)))[1])

    def give(self, message, caller):
        """An answer or a signal of the service, to the suite."""
        fields = message.header.fields
        to = {HeaderFields.destination: caller.name}
        if message.header.message_type in (MessageType.method_return, MessageType.error):
            serial = caller.pending.pop(fields[HeaderFields.reply_serial], None)
            if serial is None:
                return
            to[HeaderFields.reply_serial] = serial
        elif fields[HeaderFields.sender] == "org.freedesktop.DBus":
            return
        self.line.send(remade(message, lambda path: caller.prompts.outwards(self.names.outwards(path)), to))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    fixture = os.path.basename(sys.argv[2]).removeprefix("mock-service-").removesuffix(".py")
    front = Front(sys.argv[1], fixture)
    try:
        print(front.line.connection.unique_name, flush=True)
        front.run()
    finally:
        front.end()


main()
