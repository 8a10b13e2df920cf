import CommandFailures
import Foundation
import Glibc
import Synchronization
import Testing
import UnixSocket

@testable import DoorSupport

/// The process behind a sender on a message bus.
@Suite struct SenderProcessTests {
    private func hold(_ process: pid_t) throws -> SharedDescriptor {
        try #require(ClientProcess.hold(process))
    }

    @Test func `a process that lives is named`() throws {
        let sender = try SenderProcess(hold(getpid()))
        #expect(sender.processID == getpid() && SenderProcess.isAlive(sender.process))
    }

    @Test func `a process that has ended is gone, whoever has its number`() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/cat")
        let input = Pipe()
        process.standardInput = input
        try process.run()
        let held = try hold(process.processIdentifier)
        #expect(SenderProcess.isAlive(held))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(!SenderProcess.isAlive(held))
        let refused = #expect(throws: DoorFailure.self) { try SenderProcess(held) }
        #expect(refused?.code == -153)
    }

    @Test func `a descriptor that is no process's is refused`() throws {
        let file = SharedDescriptor(try Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC), from: "open"))
        let refused = #expect(throws: DoorFailure.self) { try SenderProcess(file) }
        #expect(refused?.code == -153)
    }

    /// Flatpak's proxy passes on what its programs send. Its name, or the file in its root folder, tells it.
    @Test func `a proxy is told by its name and by its root folder`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try !SenderProcess.isProxy(executedName: "git", root: folder.path))
        #expect(try !SenderProcess.isProxy(executedName: nil, root: folder.path))
        #expect(try SenderProcess.isProxy(executedName: "xdg-dbus-proxy", root: folder.path))
        try Data().write(to: folder.appendingPathComponent(".flatpak-info"))
        #expect(try SenderProcess.isProxy(executedName: "git", root: folder.path))
    }

    /// In namespaces of its own every program can have a root folder that it serves itself.
    @Test(.enabled(if: access("/dev/fuse", R_OK | W_OK) == 0))
    func `a root folder that answers nobody holds up nothing`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.silentRoot, folder.path]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        defer {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
            try? FileManager.default.removeItem(at: folder)
        }
        // Nothing where nobody may mount such a file system.
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let number = Int32(line.trimmingCharacters(in: .newlines)) else { return }
        let looked = DispatchSemaphore(value: 0)
        let isProxy = Mutex<Bool?>(nil)
        Thread.detachNewThread {
            let found = try? SenderProcess.isProxy(executedName: "git", root: "/proc/\(number)/root")
            isProxy.withLock { $0 = found }
            looked.signal()
        }
        #expect(looked.wait(timeout: .now() + 60) == .success)
        #expect(isProxy.withLock { $0 } == false)
    }

    /// Mounts a file system that answers no look for a file, and has a child take it for its root folder; writes the child's number. Ends with
    /// its input.
    private static let silentRoot = """
        import ctypes, os, struct, sys, threading
        root, libc, user, group = sys.argv[1], ctypes.CDLL(None), os.geteuid(), os.getegid()
        if libc.unshare(0x20000 | (0x10000000 if user else 0)): sys.exit()
        if user:
            open("/proc/self/setgroups", "w").write("deny")
            open("/proc/self/uid_map", "w").write(f"0 {user} 1")
            open("/proc/self/gid_map", "w").write(f"0 {group} 1")
        fuse = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={fuse},rootmode=40755,user_id={os.geteuid()},group_id={os.getegid()}"
        if libc.mount(None, b"/", None, 0x44000, None): sys.exit()
        if libc.mount(b"silent", root.encode(), b"fuse", 6, options.encode()): sys.exit()
        def serve():
            while True:
                request = os.read(fuse, 1 << 18)
                kind, number = struct.unpack("<4xIQ", request[:16])
                error, answer = 0, b""
                if kind == 26: answer = struct.pack("<IIIIHHII", 7, 31, 65536, 0, 16, 12, 131072, 1) + bytes(36)
                elif kind == 3: answer = struct.pack("<16x6Q10I", 1, *[0] * 8, 0o40755, 1, 0, 0, 0, 4096, 0)
                elif kind in (1, 2, 36, 42): continue
                else: error = -38
                os.write(fuse, struct.pack("<IiQ", 16 + len(answer), error, number) + answer)
        threading.Thread(target=serve, daemon=True).start()
        child = os.fork()
        if child == 0:
            os.close(fuse)
            os.chroot(root)
            os.write(1, f"{os.getpid()}\\n".encode())
            libc.pause()
        sys.stdin.read()
        os.kill(child, 9)
        """

    /// A process that executes a copy of a program under the proxy's name.
    @Test func `a proxy is refused`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let proxy = folder.appendingPathComponent("xdg-dbus-proxy")
        try FileManager.default.copyItem(at: URL(fileURLWithPath: "/bin/cat").resolvingSymlinksInPath(), to: proxy)
        let process = Process()
        process.executableURL = proxy
        let input = Pipe()
        process.standardInput = input
        try process.run()
        defer {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
        let refused = #expect(throws: DoorFailure.self) { try SenderProcess(hold(process.processIdentifier)) }
        #expect(refused?.code == -157 && refused?.exitStatus == .refused)
    }
}
