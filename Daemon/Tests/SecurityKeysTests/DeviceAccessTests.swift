import AuthenticatorRequests
import CExtendedAttributes
import Foundation
import Glibc
import HelperProcesses
import SecurityKeyProtocol
import SecurityKeyTestSupport
import StoreTestSupport
import Testing
import UnixSocket

@testable import KeyDevices
@testable import SecurityKeys

/// The users of a device, for a daemon that serves several users.
@Suite struct DeviceAccessTests {
    private static let stranger = getuid() + 1

    /// A list as the kernel keeps it: version 2, and entries of tag, permissions and number.
    private static func list(_ entries: [(tag: UInt16, permissions: UInt16, id: UInt32)]) -> [UInt8] {
        entries.reduce(into: [2, 0, 0, 0]) { bytes, entry in
            bytes += [entry.tag, entry.permissions].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
            bytes += [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: entry.id >> $0) }
        }
    }

    private func access(
        mode: mode_t, _ entries: [(tag: UInt16, permissions: UInt16, id: UInt32)] = []
    ) throws -> (folder: TestFolder, access: DeviceAccess) {
        let folder = try TestFolder()
        let path = folder.path("device")
        try Data().write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, mode) == 0)
        if !entries.isEmpty {
            let bytes = Self.list(entries)
            try #require(setxattr(path, "system.posix_acl_access", bytes, bytes.count, 0) == 0)
        }
        return (folder, DeviceAccess(path))
    }

    /// The entries that each list needs, and one for a user.
    private static func entries(_ permissions: UInt16, mask: UInt16 = 6) -> [(
        tag: UInt16, permissions: UInt16, id: UInt32
    )] {
        [(1, 6, .max), (2, permissions, stranger), (4, 0, .max), (0x10, mask, .max), (0x20, 0, .max)]
    }

    @Test func `a device is its owner's, as far as its mode says so`() throws {
        for (mode, isAllowed) in [(0o600, true), (0o400, false), (0o200, false), (0o066, false)] as [(mode_t, Bool)] {
            let (folder, access) = try access(mode: mode)
            #expect(access.allows(getuid()) == isAllowed)
            withExtendedLifetime(folder) {}
        }
    }

    @Test func `a device is another user's by the access list alone, or everybody's`() throws {
        for (mode, isAllowed) in [(0o600, false), (0o660, false), (0o604, false), (0o606, true)] as [(mode_t, Bool)] {
            let (folder, access) = try access(mode: mode)
            #expect(access.allows(Self.stranger) == isAllowed)
            withExtendedLifetime(folder) {}
        }
        for (permissions, mask, isAllowed) in [
            (6, 6, true), (7, 7, true), (4, 6, false), (2, 6, false), (6, 4, false), (0, 6, false),
        ] as [(UInt16, UInt16, Bool)] {
            let (folder, access) = try access(mode: 0o600, Self.entries(permissions, mask: mask))
            #expect(access.allows(Self.stranger) == isAllowed)
            #expect(!access.allows(Self.stranger + 1))
            withExtendedLifetime(folder) {}
        }
    }

    @Test func `a device that is not there is nobody's, but of this process's user the kernel decides`() {
        #expect(!DeviceAccess("/nonexistent/device").allows(getuid()))
        #expect(DeviceAccess("/nonexistent/device").allows(nil))
    }

    @Test func `an open device is judged by itself, and not by what has its path now`() throws {
        let (folder, _) = try access(mode: 0o600)
        let path = folder.path("device")
        let device = try HIDRawPorts.open(path, for: getuid())
        try #require(rename(path, folder.path("former")) == 0)
        try Data().write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, 0o606) == 0)
        let isByPath = DeviceAccess(path).allows(Self.stranger)
        let isOpen = DeviceAccess(device).allows(Self.stranger)
        #expect(isByPath && !isOpen)
        let isOwners = DeviceAccess(device).allows(getuid())
        #expect(isOwners)
    }

    @Test func `a device is opened for nobody to whom it does not belong`() throws {
        for (entries, isAllowed) in [(Self.entries(6), true), (Self.entries(4), false), ([], false)] {
            let (folder, _) = try access(mode: 0o600, entries)
            let path = folder.path("device")
            // This process may open it in each case.
            _ = try HIDRawPorts.open(path, for: nil)
            var refusal: SystemCallError?
            do throws(SystemCallError) { _ = try HIDRawPorts.open(path, for: Self.stranger) } catch { refusal = error }
            #expect(refusal == (isAllowed ? nil : SystemCallError("open", subject: path, code: EACCES)))
        }
    }

    @Test func `a user to whom no card is shown is not asked to hold one`() {
        #expect(CardPorts().absence(for: Self.stranger) == .insert)
        #expect(MachinePorts(for: .spawned(program: "/nonexistent")).absence(for: Self.stranger) == .insert)
        let port = SecurityKeyPort(identifier: "reader#1", name: "reader", road: .nfc)
        #expect(throws: SystemCallError("open", subject: "reader", code: EACCES)) {
            _ = try CardPorts().place(of: port, for: Self.stranger)
        }
    }

    @Test func `other bytes are no list`() {
        let bytes = Self.list(Self.entries(6))
        #expect(AccessList(bytes)?.allows(Self.stranger) == true)
        #expect(AccessList([]) == nil)
        #expect(AccessList([3] + bytes.dropFirst()) == nil)
        #expect(AccessList(Array(bytes.dropLast())) == nil)
        #expect(AccessList(bytes + [0]) == nil)
    }

    @Test func `another user's question sees no key that is not theirs`() throws {
        let fixture = try KeyFixture()
        let key = try fixture.plugIn(FIDO2Engine(TestFinger(touches: 0)), named: "key")
        let keys = fixture.keys()
        let path = fixture.folder.path("key")
        try #require(chmod(path, 0o600) == 0)
        #expect(keys.arePresent)
        #expect(keys.presented(to: getuid()).arePresent)
        #expect(!keys.presented(to: Self.stranger).arePresent)
        try #require(chmod(path, 0o666) == 0)
        #expect(keys.presented(to: Self.stranger).arePresent)
        #expect(CardPorts().present(to: Self.stranger).isEmpty)
        withExtendedLifetime(key) {}
    }
}
