"""A stand-in for ostiary-pkcs11d, for libostiary-pkcs11.so: Documentation/formats/pkcs11.md from the door's side, with keys of its own and
without a daemon. It answers as a test says: right, slowly, wrong, or not at all.

Run as a program: fake_door.py SOCKET LOG JSON. What happens is told in LOG, one JSON document a line.
"""

import contextlib
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import threading
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

HELLO, OBJECTS, UPDATE, SIGN, DECRYPT, DERIVE, FORGET, CANCEL = range(1, 9)
GREETING, LIST, RESULT, REFUSED = range(0x81, 0x85)
NAMES = {HELLO: "hello", OBJECTS: "objects", UPDATE: "update", SIGN: "sign", DECRYPT: "decrypt", DERIVE: "derive", FORGET: "forget", CANCEL: "cancel"}
BYTES, NUMBERS = 1, 2
HASHES = {0x250: hashes.SHA256(), 0x260: hashes.SHA384(), 0x270: hashes.SHA512()}
(RSA_PKCS, RSA_OAEP, RSA_PSS, ECDSA, ECDH, EDDSA) = (1, 9, 0xD, 0x1041, 0x1050, 0x1057)
ECDSA_HASHES = {0x1044: hashes.SHA256(), 0x1045: hashes.SHA384(), 0x1046: hashes.SHA512()}
RSA_HASHES = {0x40: hashes.SHA256(), 0x41: hashes.SHA384(), 0x42: hashes.SHA512()}
PSS_HASHES = {0x43: hashes.SHA256(), 0x44: hashes.SHA384(), 0x45: hashes.SHA512()}
P256 = bytes.fromhex("06082a8648ce3d030107")
ED25519 = bytes.fromhex("06032b6570")


def frame(kind, number, body=b""):
    return struct.pack(">IBI", 5 + len(body), kind, number) + body


def attribute(kind, value):
    if isinstance(value, (int, list)) and not isinstance(value, bool):
        numbers = value if isinstance(value, list) else [value]
        form, value = NUMBERS, b"".join(struct.pack(">Q", each) for each in numbers)
    else:
        form, value = BYTES, bytes([value]) if isinstance(value, bool) else value.encode() if isinstance(value, str) else value
    return struct.pack(">IBH", kind, form, len(value)) + value


def object_of(reference, longest, attributes):
    return reference + struct.pack(">HB", longest, len(attributes)) + b"".join(attribute(*each) for each in attributes.items())


def octets(value):
    return b"\x04" + (bytes([len(value)]) if len(value) < 128 else bytes([0x81, len(value)])) + value


def raw(signature):
    r, s = utils.decode_dss_signature(signature)
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def big(value):
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


class Key:
    def __init__(self, index, label, private):
        self.id, self.label, self.private = bytes([index]) * 16, label, private
        public = private.public_key()
        self.is_rsa, self.is_ec = isinstance(private, rsa.RSAPrivateKey), isinstance(private, ec.EllipticCurvePrivateKey)
        if self.is_rsa:
            numbers = public.public_numbers()
            bare = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.PKCS1)
            self.type, self.longest = 0, private.key_size // 8
            self.public = {0x120: big(numbers.n), 0x121: private.key_size, 0x122: big(numbers.e)}
            self.mechanisms = [RSA_PKCS, RSA_OAEP, RSA_PSS, *RSA_HASHES, *PSS_HASHES]
        elif self.is_ec:
            bare = public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
            self.type, self.longest = 3, 64
            self.public = {0x180: P256, 0x181: octets(bare)}
            self.mechanisms = [ECDSA, *ECDSA_HASHES, ECDH]
        else:
            bare = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
            self.type, self.longest = 0x40, 64
            self.public = {0x180: ED25519, 0x181: octets(bare)}
            self.mechanisms = [EDDSA]
        self.key_id = hashlib.sha1(bare).digest()

    def shared(self, kind):
        return {0: kind, 1: True, 2: False, 0x170: False, 3: self.label, 0x102: self.key_id, 0x100: self.type}

    def objects(self):
        closed = {0x103: True, 0x162: False, 0x108: True, 0x105: self.is_rsa, 0x10C: self.is_ec, 0x202: False, 0x40000600: self.mechanisms}
        # The private exponent and the like are not there.
        yield object_of(bytes([3, 1]) + self.id, self.longest, self.shared(3) | self.public | closed)
        yield object_of(bytes([2, 1]) + self.id, 0, self.shared(2) | self.public | {0x10A: False, 0x104: False})

    def certificate(self):
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self.label)])
        import datetime
        begin = datetime.datetime(2024, 1, 1)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self.private.public_key()).serial_number(77) \
            .not_valid_before(begin).not_valid_after(begin + datetime.timedelta(days=20000)).sign(self.private, hashes.SHA256())
        subject, serial = name.public_bytes(), bytes([2, 1, 77])
        values = {0: 1, 1: True, 2: False, 3: self.label, 0x102: self.key_id, 0x80: 0, 0x87: 0, 0x101: subject, 0x81: subject, 0x82: serial,
                  0x11: made.public_bytes(serialization.Encoding.DER)}
        return object_of(bytes([1, 4]) + self.id, 0, values)

    def sign(self, mechanism, data):
        kind, _, _, salt = mechanism
        if kind == ECDSA:
            size = {20: hashes.SHA1(), 32: hashes.SHA256(), 48: hashes.SHA384(), 64: hashes.SHA512()}.get(len(data))
            if size is None:
                return 0x21
            return raw(self.private.sign(data, ec.ECDSA(utils.Prehashed(size))))
        if kind in ECDSA_HASHES:
            return raw(self.private.sign(data, ec.ECDSA(ECDSA_HASHES[kind])))
        if kind == EDDSA:
            return self.private.sign(data)
        if kind in RSA_HASHES:
            return self.private.sign(data, padding.PKCS1v15(), RSA_HASHES[kind])
        if kind in PSS_HASHES:
            return self.private.sign(data, padding.PSS(padding.MGF1(PSS_HASHES[kind]), salt), PSS_HASHES[kind])
        if kind == RSA_PSS:
            used = HASHES[mechanism[1]]
            return self.private.sign(data, padding.PSS(padding.MGF1(used), salt), utils.Prehashed(used))
        # PKCS #1 v1.5 of what the host made: a DigestInfo.
        numbers = self.private.private_numbers()
        n, size = numbers.public_numbers.n, self.private.key_size // 8
        if len(data) > size - 11:
            return 0x21
        block = b"\0\1" + b"\xff" * (size - 3 - len(data)) + b"\0" + data
        return pow(int.from_bytes(block, "big"), numbers.d, n).to_bytes(size, "big")

    def decrypt(self, mechanism, data):
        if len(data) != self.longest:
            return 0x41
        used = padding.PKCS1v15() if mechanism[0] == RSA_PKCS else \
            padding.OAEP(padding.MGF1(HASHES[mechanism[1]]), HASHES[mechanism[1]], None)
        try:
            return self.private.decrypt(data, used)
        except ValueError:
            return 0x40

    def agree(self, data):
        if len(data) == 67:
            data = data[2:]
        try:
            return self.private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data))
        except ValueError:
            return 0x71


def load_keys(folder):
    """The same keys in each process of a test."""
    path = f"{folder}/keys.pem"
    if not os.path.exists(path):
        made = [ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate()]
        with open(path + ".new", "wb") as file:
            for each in made:
                file.write(each.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        os.rename(path + ".new", path)
    with open(path) as file:
        parts = file.read().split("-----END PRIVATE KEY-----\n")[:-1]
    privates = [serialization.load_pem_private_key((part + "-----END PRIVATE KEY-----\n").encode(), None) for part in parts]
    return [Key(index + 1, label, private) for index, (label, private) in enumerate(zip(("work", "legacy", "ed"), privates))]


class Gone(Exception):
    pass


class Connection:
    def __init__(self, door, connection):
        self.door, self.connection = door, connection
        self.lock = threading.Lock()
        self.operations, self.cancelled, self.under_way = {}, set(), set()
        self.peer = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def read(self, count):
        got = b""
        while len(got) < count:
            part, control, _, _ = self.connection.recvmsg(count - len(got), 1024)
            if not part:
                raise Gone
            for level, kind, data in control:
                if kind == socket.SCM_CREDENTIALS and struct.unpack("3i", data)[0] != self.peer:
                    self.door.tell(event="foreign", peer=self.peer, sender=struct.unpack("3i", data)[0])
            got += part
        return got

    def send(self, some_bytes):
        with self.lock:
            self.connection.sendall(some_bytes)

    def answer(self, kind, number, body=b""):
        self.send(frame(kind, number, body))

    def serve(self):
        self.door.tell(event="connected", peer=self.peer)
        try:
            while True:
                (size,) = struct.unpack(">I", self.read(4))
                assert 5 <= size <= 65536, size
                kind, number = struct.unpack(">BI", self.read(5))
                body = self.read(size - 5)
                self.door.tell(event=NAMES[kind], peer=self.peer, number=number, size=len(body))
                self.handle(kind, number, body)
        except (Gone, ConnectionError):
            pass
        except AssertionError as failure:
            self.door.tell(event="malformed", peer=self.peer, what=repr(failure))
        self.door.tell(event="ended", peer=self.peer)
        self.connection.close()

    def handle(self, kind, number, body):
        plan = self.door.plan
        name = NAMES[kind]
        if name == plan.get("die_at"):
            os.kill(os.getpid(), signal.SIGKILL)
        if name == plan.get("hang_up_at"):
            raise Gone
        if name in plan.get("raw", {}):
            return self.send(bytes.fromhex(plan["raw"][name].replace("NUMBER", f"{number:08x}")))
        if name in plan.get("silent", []):
            return None
        if name in plan.get("refuse", {}):
            return self.answer(REFUSED, number, struct.pack(">I", plan["refuse"][name]))
        if kind == HELLO:
            assert (number, body) == (0, b"OP11\x01"), body
            self.answer(GREETING, 0, b"\1")
            if plan.get("deaf"):
                # It takes nothing more, and does not hang up.
                self.connection.shutdown(socket.SHUT_RD)
                time.sleep(60)
            return None
        if kind == CANCEL:
            assert number == 0 and len(body) == 4
            self.cancelled.add(struct.unpack(">I", body)[0])
            return None
        if kind == FORGET:
            assert number == 0 and len(body) == 4
            self.operations.pop(struct.unpack(">I", body)[0], None)
            return None
        assert number > 0
        if kind == OBJECTS:
            return self.list(number, *struct.unpack(">I", body))
        if kind == UPDATE:
            return self.update(number, body)
        # A question stands on a thread of its own.
        self.under_way.add(number)
        assert len(self.under_way) <= 16, "too many requests at once"
        return threading.Thread(target=self.use, args=(kind, number, body), daemon=True).start()

    def list(self, number, cursor):
        objects, size = self.door.objects(), self.door.plan.get("page", 1000)
        page, rest = objects[cursor:cursor + size], objects[cursor + size:]
        self.answer(LIST, number, struct.pack(">IH", cursor + size if rest else 0, len(page)) + b"".join(page))

    def update(self, number, body):
        operation, *mechanism = struct.unpack(">IIIII", body[:20])
        assert operation and 0 < len(body) - 20 <= 32768
        known, data = self.operations.setdefault(operation, (mechanism, bytearray()))
        assert known == mechanism
        data += body[20:]
        self.answer(RESULT, number)

    def use(self, kind, number, body):
        reference, mechanism, rest = body[:18], struct.unpack(">IIII", body[18:34]), body[34:]
        end = time.monotonic() + self.door.plan.get("question", 0)
        label = next((key.label for key in self.door.keys if reference[2:] == key.id), None)
        if label in self.door.plan.get("standing", []):
            end = float("inf")
        while time.monotonic() < end and number not in self.cancelled:
            time.sleep(0.005)
        # Whoever reads the answer may send another request at once.
        self.under_way.discard(number)
        if number in self.cancelled:
            with contextlib.suppress(OSError):
                self.answer(REFUSED, number, struct.pack(">I", 0x50))
            return None
        key = next((each for each in self.door.keys if each.id == reference[2:]), None)
        try:
            result = self.result(key, kind, mechanism, rest) if key else 0x60
        except Exception as failure:
            self.door.tell(event="malformed", peer=self.peer, what=repr(failure))
            return self.connection.shutdown(socket.SHUT_RDWR)
        try:
            if isinstance(result, int):
                self.answer(REFUSED, number, struct.pack(">I", result))
            else:
                self.answer(RESULT, number, result)
        except OSError:
            pass

    def result(self, key, kind, mechanism, rest):
        if kind == DERIVE:
            return key.agree(rest)
        if kind == DECRYPT:
            return key.decrypt(mechanism, rest)
        (operation,), data = struct.unpack(">I", rest[:4]), rest[4:]
        assert len(data) <= 32768
        if operation:
            known, begun = self.operations.pop(operation)
            assert known == list(mechanism)
            data = bytes(begun) + data
        return key.sign(mechanism, data)


class Door:
    def __init__(self, path, log, plan):
        self.log, self.plan = open(log, "a", buffering=1), plan
        self.keys = load_keys(os.path.dirname(log))
        self.path = path
        self.lock = threading.Lock()

    def tell(self, **event):
        with self.lock:
            self.log.write(json.dumps(event) + "\n")

    def objects(self):
        removed = self.plan.get("removed_file")
        keys = [key for key in self.keys if not (removed and os.path.exists(removed) and key.label == "work")]
        keys = [key for key in keys if key.label in self.plan.get("only", [key.label])]
        made = [each for key in keys for each in key.objects()] + [key.certificate() for key in keys if key.is_ec]
        return made * self.plan.get("times", 1)

    def serve(self):
        os.umask(0o077)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if os.path.exists(self.path):
            os.unlink(self.path)
        listener = socket.socket(socket.AF_UNIX)
        # Connections have it from the listener, so that what is sent before they are accepted has a sender, too.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        listener.bind(self.path)
        listener.listen(64)
        self.tell(event="listening", process=os.getpid())
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=Connection(self, connection).serve, daemon=True).start()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    Door(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])).serve()
