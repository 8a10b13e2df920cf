"""As much of PKCS #11 as the tests need, through ctypes: the module is called as a host calls it, in this process."""

import ctypes
import struct
from ctypes import POINTER, byref, c_char_p, c_ubyte, c_ulong, c_void_p, cast, create_string_buffer

UNAVAILABLE = 2 ** (8 * ctypes.sizeof(c_ulong)) - 1

(OK, HOST_MEMORY, SLOT_ID_INVALID, FUNCTION_FAILED, ARGUMENTS_BAD, NO_EVENT, CANT_LOCK) = (0, 2, 3, 6, 7, 8, 0xA)
(ATTRIBUTE_SENSITIVE, ATTRIBUTE_TYPE_INVALID, ATTRIBUTE_VALUE_INVALID, ACTION_PROHIBITED) = (0x11, 0x12, 0x13, 0x1B)
(DATA_INVALID, DATA_LEN_RANGE, DEVICE_ERROR, DEVICE_MEMORY) = (0x20, 0x21, 0x30, 0x31)
(ENCRYPTED_DATA_INVALID, ENCRYPTED_DATA_LEN_RANGE) = (0x40, 0x41)
(FUNCTION_CANCELED, FUNCTION_NOT_SUPPORTED, KEY_HANDLE_INVALID, KEY_TYPE_INCONSISTENT) = (0x50, 0x54, 0x60, 0x63)
(KEY_FUNCTION_NOT_PERMITTED, MECHANISM_INVALID, MECHANISM_PARAM_INVALID, OBJECT_HANDLE_INVALID) = (0x68, 0x70, 0x71, 0x82)
(OPERATION_ACTIVE, OPERATION_NOT_INITIALIZED, PIN_LOCKED) = (0x90, 0x91, 0xA4)
(SESSION_HANDLE_INVALID, SESSION_PARALLEL_NOT_SUPPORTED) = (0xB3, 0xB4)
(TEMPLATE_INCONSISTENT, TOKEN_WRITE_PROTECTED) = (0xD1, 0xE2)
(USER_ALREADY_LOGGED_IN, USER_NOT_LOGGED_IN, USER_TYPE_INVALID) = (0x100, 0x101, 0x103)
(RANDOM_NO_RNG, BUFFER_TOO_SMALL, NOT_INITIALIZED, ALREADY_INITIALIZED) = (0x121, 0x150, 0x190, 0x191)
FUNCTION_REJECTED = 0x200

(CERTIFICATE, PUBLIC_KEY, PRIVATE_KEY, SECRET_KEY) = (1, 2, 3, 4)
NSS_TRUST = 0xCE534353
(KEY_RSA, KEY_EC, KEY_GENERIC, KEY_AES, KEY_EDWARDS) = (0, 3, 0x10, 0x1F, 0x40)
(CLASS, TOKEN, PRIVATE, LABEL, VALUE, CERTIFICATE_TYPE, ISSUER, SERIAL_NUMBER) = (0, 1, 2, 3, 0x11, 0x80, 0x81, 0x82)
(KEY_TYPE, SUBJECT, ID, SENSITIVE, DECRYPT, SIGN, DERIVE) = (0x100, 0x101, 0x102, 0x103, 0x105, 0x108, 0x10C)
(MODULUS, MODULUS_BITS, PUBLIC_EXPONENT, PRIVATE_EXPONENT, PRIME_1) = (0x120, 0x121, 0x122, 0x123, 0x124)
(VALUE_LEN, EXTRACTABLE, EC_PARAMS, EC_POINT, ALWAYS_AUTHENTICATE, ALLOWED_MECHANISMS) = (0x161, 0x162, 0x180, 0x181, 0x202, 0x40000600)
(RSA_PKCS, RSA_OAEP, RSA_PSS, SHA256_RSA, SHA512_RSA, SHA256_PSS) = (1, 9, 0xD, 0x40, 0x42, 0x43)
(SHA256, ECDSA, ECDSA_SHA256, ECDSA_SHA384, ECDH, EDDSA) = (0x250, 0x1041, 0x1044, 0x1045, 0x1050, 0x1057)
MGF1_SHA256 = 2

(SERIAL, READ_WRITE) = (4, 2)


class Attribute(ctypes.Structure):
    _fields_ = [("type", c_ulong), ("value", c_void_p), ("size", c_ulong)]


class Mechanism(ctypes.Structure):
    _fields_ = [("type", c_ulong), ("parameter", c_void_p), ("size", c_ulong)]


class Version(ctypes.Structure):
    _fields_ = [("major", c_ubyte), ("minor", c_ubyte)]


class Interface(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("functions", POINTER(Version)), ("flags", c_ulong)]


class SlotInfo(ctypes.Structure):
    _fields_ = [("description", c_ubyte * 64), ("manufacturer", c_ubyte * 32), ("flags", c_ulong), ("hardware", Version), ("firmware", Version)]


class TokenInfo(ctypes.Structure):
    _fields_ = [
        ("label", c_ubyte * 32), ("manufacturer", c_ubyte * 32), ("model", c_ubyte * 16), ("serial", c_ubyte * 16), ("flags", c_ulong),
        ("numbers", c_ulong * 10), ("hardware", Version), ("firmware", Version), ("time", c_ubyte * 16),
    ]


class SessionInfo(ctypes.Structure):
    _fields_ = [("slot", c_ulong), ("state", c_ulong), ("flags", c_ulong), ("error", c_ulong)]


class InitializeArguments(ctypes.Structure):
    _fields_ = [("functions", c_void_p * 4), ("flags", c_ulong), ("reserved", c_void_p)]


class PSS(ctypes.Structure):
    _fields_ = [("hash", c_ulong), ("mask", c_ulong), ("salt", c_ulong)]


class OAEP(ctypes.Structure):
    _fields_ = [("hash", c_ulong), ("mask", c_ulong), ("source", c_ulong), ("label", c_void_p), ("label_size", c_ulong)]


class ECDHParameters(ctypes.Structure):
    _fields_ = [("kdf", c_ulong), ("shared_size", c_ulong), ("shared", c_void_p), ("public_size", c_ulong), ("public", c_void_p)]


def number(value):
    return struct.pack("@L", value)


def mechanism(kind, parameter=None):
    if parameter is None:
        return Mechanism(kind, None, 0)
    made = Mechanism(kind, cast(ctypes.pointer(parameter), c_void_p), ctypes.sizeof(parameter))
    made.kept = parameter
    return made


def agreement(public, kdf=1, shared=b""):
    kept, other = create_string_buffer(public, len(public)), create_string_buffer(shared, len(shared))
    made = ECDHParameters(kdf, len(shared), cast(other, c_void_p) if shared else None, len(public), cast(kept, c_void_p))
    made.kept = (kept, other)
    return mechanism(ECDH, made)


def template(values):
    """A template of a dictionary; numbers, booleans, texts and bytes are written as PKCS #11 has them."""
    made = (Attribute * max(1, len(values)))()
    made.kept = []
    for index, (kind, value) in enumerate(values.items()):
        if isinstance(value, bool):
            value = bytes([value])
        elif isinstance(value, int):
            value = number(value)
        elif isinstance(value, str):
            value = value.encode()
        kept = create_string_buffer(value, len(value))
        made.kept.append(kept)
        made[index] = Attribute(kind, cast(kept, c_void_p), len(value))
    return made, len(values)


class Failure(Exception):
    def __init__(self, code):
        super().__init__(f"CKR {code:#x}")
        self.code = code


def check(code):
    if code:
        raise Failure(code)


class Module:
    """The functions by their names; those that return something take no pointers for it."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __getattr__(self, name):
        function = getattr(self.library, name)
        function.restype = c_ulong
        return function

    def initialize(self, arguments=None):
        return self.C_Initialize(byref(arguments) if arguments else None)

    def open(self, flags=SERIAL):
        handle = c_ulong()
        check(self.C_OpenSession(c_ulong(0), c_ulong(flags), None, None, byref(handle)))
        return handle.value

    def find(self, session, maximum=100, **values):
        made, count = template({getattr(__import__("cryptoki"), name.upper()): value for name, value in values.items()})
        check(self.C_FindObjectsInit(c_ulong(session), made, c_ulong(count)))
        handles = []
        try:
            while True:
                room, found = (c_ulong * maximum)(), c_ulong()
                check(self.C_FindObjects(c_ulong(session), room, c_ulong(maximum), byref(found)))
                handles += room[:found.value]
                if found.value < maximum:
                    return handles
        finally:
            check(self.C_FindObjectsFinal(c_ulong(session)))

    def key(self, session, label, kind=PRIVATE_KEY):
        (handle,) = self.find(session, **{"class": kind, "label": label})
        return handle

    def get(self, session, handle, kind):
        wanted = (Attribute * 1)(Attribute(kind, None, 0))
        check(self.C_GetAttributeValue(c_ulong(session), c_ulong(handle), wanted, c_ulong(1)))
        room = create_string_buffer(max(1, wanted[0].size))
        wanted[0].value = cast(room, c_void_p)
        check(self.C_GetAttributeValue(c_ulong(session), c_ulong(handle), wanted, c_ulong(1)))
        return room.raw[:wanted[0].size]

    def begin(self, session, kind, key, parameter=None):
        made = kind if isinstance(kind, Mechanism) else mechanism(kind, parameter)
        return self.C_SignInit(c_ulong(session), byref(made), c_ulong(key))

    def sign(self, session, data, room=600):
        buffer, size = create_string_buffer(room), c_ulong(room)
        check(self.C_Sign(c_ulong(session), data, c_ulong(len(data)), buffer, byref(size)))
        return buffer.raw[:size.value]

    def sign_all(self, session, kind, key, data, parameter=None):
        check(self.begin(session, kind, key, parameter))
        return self.sign(session, data)

    def update(self, session, data):
        return self.C_SignUpdate(c_ulong(session), data, c_ulong(len(data)))

    def final(self, session, room=600):
        buffer, size = create_string_buffer(room), c_ulong(room)
        check(self.C_SignFinal(c_ulong(session), buffer, byref(size)))
        return buffer.raw[:size.value]

    def decrypt(self, session, kind, key, data, parameter=None, room=600):
        made = mechanism(kind, parameter)
        check(self.C_DecryptInit(c_ulong(session), byref(made), c_ulong(key)))
        buffer, size = create_string_buffer(room), c_ulong(room)
        check(self.C_Decrypt(c_ulong(session), data, c_ulong(len(data)), buffer, byref(size)))
        return buffer.raw[:size.value]

    def derive(self, session, key, made, values=None):
        wanted, count = template(values or {})
        handle = c_ulong()
        check(self.C_DeriveKey(c_ulong(session), byref(made), c_ulong(key), wanted, c_ulong(count), byref(handle)))
        return handle.value
