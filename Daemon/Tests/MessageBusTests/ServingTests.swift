import DetachedThreads
import Foundation
import Glibc
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import MessageBus

private typealias Example = ServedExample

/// Objects that a connection serves, called by other programs over a private bus.
@Suite(.timeLimit(.minutes(10))) struct ServingTests {
    let bus: PrivateBus
    let example = ServedExample()

    init() throws { bus = try PrivateBus() }

    private func client() throws -> Bus { try MessageBusTests.client(on: bus) }

    /// Calls a method of the object as a program that is not ours.
    private func call(_ member: String, _ arguments: [String] = []) throws -> String {
        try bus.call(Example.name, Example.path, Example.interface + "." + member, arguments)
    }

    private func ask(_ client: Bus, _ member: String, _ argument: String...) throws(BusError) -> BusMessage {
        guard let argument = argument.first else {
            return try client.call(Example.name, Example.path, Example.interface, member)
        }
        return try client.call(Example.name, Example.path, Example.interface, member, argument)
    }

    private func hold(_ client: Bus) throws -> PendingCall {
        try client.send(Example.name, Example.path, Example.interface, "Hold", [])
    }

    private func answer(to call: PendingCall, _ client: Bus) throws -> BusMessage {
        while true {
            let message = try client.next()
            if message.isAnswer(to: call) { return message }
        }
    }

    // MARK: methods

    @Test func `a method of a served object is called, and answers`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        #expect(try call("Echo", ["'some text'"]) == "('some text',)\n")
        #expect(try call("Twice") == "('first',)\n", "a second answer is dropped")
    }

    @Test func `arguments of every kind are read`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        let dictionary = "{'text': <'a'>, 'flag': <true>, 'pair': <(uint32 5, uint64 6)>}"
        let described = try call("Describe", ["objectpath '/some/path'", dictionary])
        #expect(described == "('/some/path text a flag true pair 5/6',)\n")
    }

    @Test func `a variant with something else is an error of the caller's`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        let error = #expect(throws: PrivateBus.CallFailed.self) {
            try call("Describe", ["objectpath '/some/path'", "{'number': <1.5>}"])
        }
        #expect(error?.output.contains("org.freedesktop.DBus.Error.InvalidArgs") == true)
    }

    @Test func `a secret comes and goes`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        let answer = try call("Reverse", ["(objectpath '/a', [byte 1, 2, 3])"])
        #expect(answer == "((objectpath '/reversed', [byte 0x03, 0x02, 0x01]),)\n")
        #expect(try call("Reverse", ["(objectpath '/a', @ay [])"]) == "((objectpath '/reversed', @ay []),)\n")
    }

    @Test func `the bus says who calls`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        let client = try client()
        let answer = try ask(client, "Caller")
        #expect(try bus.names(ofProcess: getpid()).contains(answer.readText()))
        #expect(try answer.readUInt32() == getuid())
        #expect(try answer.readInt32() == getpid())
    }

    // MARK: errors

    /// The error that a call is answered with.
    private func fault(_ member: String, _ arguments: String...) throws -> String? {
        let client = try client()
        let call = try client.send(Example.name, Example.path, Example.interface, member, arguments)
        let answer = try answer(to: call, client)
        let error = #expect(throws: BusError.self) { try answer.requireResult(of: call) }
        return error?.name
    }

    @Test func `a refusal has the name that the service gave it`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        #expect(try fault("Refuse") == "org.example.Refused")
    }

    @Test func `a call that the service drops is answered`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        #expect(try fault("Forget") == "org.freedesktop.DBus.Error.NoReply")
    }

    @Test func `an answer of other types than the method's is none`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        #expect(try fault("WrongTypes") == "org.freedesktop.DBus.Error.Failed")
    }

    @Test func `arguments of other types than the method's do not reach it`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        #expect(try fault("Echo") == "org.freedesktop.DBus.Error.InvalidArgs")
        #expect(try fault("Hold", "surplus") == "org.freedesktop.DBus.Error.InvalidArgs")
        #expect(example.held.isEmpty)
    }

    @Test func `there is nothing but the objects, their interfaces and their methods`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        #expect(try fault("NoSuchMethod") == "org.freedesktop.DBus.Error.UnknownMethod")
        let client = try client()
        let places = [("/org/example/two", Example.interface), ("/other", Example.interface)]
        for (path, interface) in places {
            let error = #expect(throws: BusError.self) { try client.call(Example.name, path, interface, "Twice") }
            #expect(error?.isUnknownObject == true, "\(path): \(String(describing: error))")
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can be another user"))
    func `a program of another user is refused`() throws {
        let bus = try PrivateBus(isForAllUsers: true)
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/gdbus", "call", "--address", bus.address,
            "--dest", Example.name, "--object-path", Example.path, "--method", Example.interface + ".Twice",
        ]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text.contains("org.freedesktop.DBus.Error.AccessDenied"), "\(text)")
        // It has left by now, and the handler's side is not told of a peer that it never served.
        let echo = try bus.call(Example.name, Example.path, Example.interface + ".Echo", ["'own'"])
        #expect(echo == "('own',)\n")
        try eventually("the own caller has left") { !example.peersThatLeft.isEmpty }
        #expect(example.peersThatLeft.count == 1)
    }

    // MARK: later answers

    @Test func `an answer comes later, from another thread`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        let client = try client()
        let pending = try hold(client)
        try eventually("the call is held") { example.held.count == 1 }
        #expect(try ask(client, "Echo", "meanwhile").readText() == "meanwhile")
        let held = example.held[0]
        Thread.detachNewThread {
            held.answer { (values) throws(BusFault) in try values.append("late") }
        }
        #expect(try answer(to: pending, client).readText() == "late")
    }

    @Test func `a caller that leaves is told of, and its answers are dropped`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        var leaving: Bus? = try client()
        _ = try hold(#require(leaving))
        try eventually("the call is held") { example.held.count == 1 }
        let held = example.held[0]
        #expect(example.peersThatLeft.isEmpty)
        leaving = nil
        try eventually("the caller has left") { example.peersThatLeft == [held.caller.name] }
        held.answer { (values) throws(BusFault) in try values.append("too late") }
        #expect(try call("Echo", ["'others'"]) == "('others',)\n")
        #expect(example.endings.isEmpty)
    }

    // MARK: limits

    @Test func `a peer with too many unanswered calls is refused, and no other one`() throws {
        let server = try example.serveByName(on: bus, ServingLimits(calls: HolderLimits(ofPeer: 3)))
        defer { server.close() }
        let client = try client()
        for _ in 0..<3 { _ = try hold(client) }
        let surplus = try hold(client)
        let refusal = try answer(to: surplus, client)
        let error = #expect(throws: BusError.self) { try refusal.requireResult(of: surplus) }
        #expect(error?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
        #expect(example.held.count == 3)
        #expect(try call("Echo", ["'others'"]) == "('others',)\n")
        example.held[0].answer { (values) throws(BusFault) in try values.append("") }
        #expect(try ask(client, "Echo", "again").readText() == "again", "a place is free")
    }

    @Test func `a process with many connections has one share`() throws {
        let server = try example.serveByName(on: bus, ServingLimits(calls: HolderLimits(ofPeer: 2, ofProcess: 3)))
        defer { server.close() }
        let (first, second) = (try client(), try client())
        for _ in 0..<2 { _ = try hold(first) }
        _ = try hold(second)
        try eventually("the calls are held") { example.held.count == 3 }
        let surplus = try hold(second)
        let refusal = try answer(to: surplus, second)
        let error = #expect(throws: BusError.self) { try refusal.requireResult(of: surplus) }
        #expect(error?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
        #expect(example.held.count == 3)
        #expect(try call("Echo", ["'another process'"]) == "('another process',)\n")
    }

    @Test func `a peer that leaves gives back its places`() throws {
        let server = try example.serveByName(on: bus, ServingLimits(calls: HolderLimits(ofPeer: 2, total: 2)))
        defer { server.close() }
        var leaving: Bus? = try client()
        for _ in 0..<2 { _ = try hold(#require(leaving)) }
        try eventually("the calls are held") { example.held.count == 2 }
        #expect(try fault("Twice") == "org.freedesktop.DBus.Error.LimitsExceeded")
        leaving = nil
        try eventually("the caller has left") { !example.peersThatLeft.isEmpty }
        #expect(try call("Twice") == "('first',)\n")
    }

    @Test func `the arguments that are read of a call have a limit`() throws {
        let server = try example.serveByName(on: bus, ServingLimits(argumentByteCount: 100))
        defer { server.close() }
        let client = try client()
        let longest = String(repeating: "x", count: 92)
        #expect(try ask(client, "Echo", longest).readText() == longest)
        #expect(try fault("Echo", longest + "x") == "org.freedesktop.DBus.Error.LimitsExceeded")
        let bytes = (0..<200).map { _ in "1" }.joined(separator: ", ")
        let error = #expect(throws: PrivateBus.CallFailed.self) {
            try call("Reverse", ["(objectpath '/a', [byte \(bytes)])"])
        }
        #expect(error?.output.contains("LimitsExceeded") == true)
    }

    @Test func `a handler that reads no element of an array comes to an end`() throws {
        let server = try example.serveByName(on: bus)
        defer { server.close() }
        let error = #expect(throws: PrivateBus.CallFailed.self) { try call("Idle", ["['a']"]) }
        #expect(error?.output.contains("LimitsExceeded") == true)
    }
}

/// Properties, introspection and signals.
@Suite(.timeLimit(.minutes(10))) struct ServedMemberTests {
    private static let properties = "org.freedesktop.DBus.Properties"

    let bus: PrivateBus
    let example = ServedExample()
    let server: BusServer
    let client: Bus

    init() throws {
        bus = try PrivateBus()
        server = try example.serveByName(on: bus)
        client = try Bus(on: UnixSocket.connect(to: bus.path))
    }

    private func property(_ member: String, _ arguments: [String]) throws -> String {
        try bus.call(
            Example.name, Example.path, Self.properties + "." + member, ["'\(Example.interface)'"] + arguments)
    }

    @Test func `an introspection shows objects and members`() throws {
        func introspection(of path: String) throws -> String {
            try client.call(Example.name, path, "org.freedesktop.DBus.Introspectable", "Introspect").readText()
        }
        #expect(try introspection(of: Example.prefix).contains(#"<node name="one"/>"#))
        let object = try introspection(of: Example.path)
        #expect(object.contains(#"<interface name="org.example.Service1">"#))
        #expect(object.contains(#"<method name="Describe">"#) && object.contains(#"type="a{sv}""#))
        #expect(object.contains(#"<property name="Label" type="s" access="readwrite">"#))
        #expect(object.contains(#"<property name="Version" type="u" access="read">"#))
        #expect(object.contains(#"<signal name="Said">"#))
    }

    @Test func `peers are answered by sd-bus`() throws {
        #expect(try bus.call(Example.name, Example.path, "org.freedesktop.DBus.Peer.Ping") == "()\n")
    }

    @Test func `a property is read`() throws {
        #expect(try property("Get", ["'Version'"]) == "(<uint32 7>,)\n")
        #expect(try property("Get", ["'Label'"]) == "(<'first'>,)\n")
    }

    @Test func `a property that cannot be read says why`() throws {
        let error = #expect(throws: PrivateBus.CallFailed.self) { try property("Get", ["'Broken'"]) }
        #expect(error?.output.contains("org.example.Broken") == true)
    }

    @Test func `a property is set by its handler, if it has one and the type is right`() throws {
        #expect(try property("Set", ["'Label'", "<'second'>"]) == "()\n")
        #expect(example.label == "second")
        let wrong = #expect(throws: PrivateBus.CallFailed.self) { try property("Set", ["'Label'", "<uint32 1>"]) }
        #expect(wrong?.output.contains("org.freedesktop.DBus.Error.InvalidArgs") == true)
        let fixed = #expect(throws: PrivateBus.CallFailed.self) { try property("Set", ["'Version'", "<uint32 1>"]) }
        #expect(fixed?.output.contains("org.freedesktop.DBus.Error.PropertyReadOnly") == true)
        #expect(example.label == "second")
    }

    /// The interface looks at the end of a path only; the connection serves objects below its prefix.
    @Test func `no property is set of an object outside of the prefix`() throws {
        let error = #expect(throws: PrivateBus.CallFailed.self) {
            try bus.call(
                Example.name, "/elsewhere/one", "org.freedesktop.DBus.Properties.Set",
                ["'\(Example.interface)'", "'Label'", "<'second'>"])
        }
        #expect(error?.output.contains("org.freedesktop.DBus.Error.UnknownObject") == true)
        #expect(example.label == "first")
    }

    /// The next signal; the bus sends others in between.
    private func nextSignal(_ interface: String, _ member: String) throws -> BusMessage {
        while true {
            let message = try client.next()
            if message.isSignal(interface, member) { return message }
        }
    }

    @Test func `a change is told with the new value`() throws {
        try client.receive(SignalMatch(Self.properties, "PropertiesChanged", from: Example.name))
        example.label = "third"
        server.announceChange(of: ["Label"], Example.interface, at: Example.path)
        let signal = try nextSignal(Self.properties, "PropertiesChanged")
        #expect(signal.path == Example.path)
        #expect(try signal.readText() == Example.interface)
        var told: [String] = []
        try signal.readArray(of: "{sv}") { () throws(BusError) in
            guard try signal.enter(.dictionaryEntry, "sv") else { return }
            told.append(try signal.readText())
            guard try signal.enter(.variant, "s") else { return }
            told.append(try signal.readText())
            try signal.exitContainer()
            try signal.exitContainer()
        }
        #expect(told == ["Label", "third"])
    }

    @Test func `a signal goes to all, or to one`() throws {
        try client.receive(SignalMatch(Example.interface, "Said", from: Example.name))
        let other = try Bus(on: UnixSocket.connect(to: bus.path))
        let asked = try other.call(Example.name, Example.path, Example.interface, "Caller")
        let name = try asked.readText()
        server.emit("Said", of: Example.interface, at: Example.path, to: name) { (values) throws(BusFault) in
            try values.append("to one")
        }
        server.emit("Said", of: Example.interface, at: Example.path) { (values) throws(BusFault) in
            try values.append("to all")
        }
        #expect(try nextSignal(Example.interface, "Said").readText() == "to all")
        var message = try other.next()
        while !message.isSignal(Example.interface, "Said") { message = try other.next() }
        #expect(try message.readText() == "to one")
    }
}

/// A client that the bus let in: what it sends leaves at once, also while nobody processes its connection.
private func client(on bus: PrivateBus) throws -> Bus {
    let client = try Bus(on: UnixSocket.connect(to: bus.path))
    _ = try client.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
    return client
}

/// Names, and the ends of connections.
@Suite(.timeLimit(.minutes(10))) struct BusServerTests {
    let bus: PrivateBus
    let example = ServedExample()

    init() throws { bus = try PrivateBus() }

    @Test func `a name is taken once, and free again when it is released or its connection ends`() throws {
        let first = try example.serveByName(on: bus)
        let second = try ServedExample().serve(on: bus)
        defer { second.close() }
        #expect(throws: BusNameError.taken) { try second.requestName(Example.name) }
        try first.requestName(Example.name)
        try first.releaseName(Example.name)
        try second.requestName(Example.name)
        #expect(throws: BusNameError.taken) { try first.requestName(Example.name) }
        try second.releaseName(Example.name)
        try first.requestName(Example.name)
        first.close()
        try eventually("the name is free") { (try? second.requestName(Example.name)) != nil }
    }

    @Test func `a name that the bus does not allow is refused`() throws {
        let server = try example.serve(on: bus)
        defer { server.close() }
        #expect(throws: BusNameError.notAllowed) { try server.requestName(PrivateBus.forbiddenName) }
        let malformed = BusError("RequestName", code: EINVAL, name: "org.freedesktop.DBus.Error.InvalidArgs")
        #expect(throws: BusNameError.failed(malformed)) { try server.requestName("no name") }
    }

    @Test func `a name that the connection does not have is not released`() throws {
        let server = try example.serve(on: bus)
        defer { server.close() }
        #expect(throws: BusError("ReleaseName", code: ESRCH)) { try server.releaseName(Example.name) }
    }

    @Test func `a bus that ends is told, once`() throws {
        let server = try example.serveByName(on: bus)
        let client = try MessageBusTests.client(on: bus)
        _ = try client.send(Example.name, Example.path, Example.interface, "Hold", [])
        try eventually("the call is held") { example.held.count == 1 }
        bus.stop()
        try eventually("the end is told") { !example.endings.isEmpty }
        #expect(example.endings.first??.code == ECONNRESET)
        example.held[0].answer { (values) throws(BusFault) in try values.append("too late") }
        #expect(throws: BusNameError.failed(BusError("RequestName", code: ENOTCONN))) {
            try server.requestName(Example.name)
        }
        server.close()
        #expect(example.endings.count == 1)
    }

    @Test func `a closed connection gives the answers from before, and tells its end`() throws {
        let server = try example.serveByName(on: bus)
        let client = try MessageBusTests.client(on: bus)
        let call = try client.send(Example.name, Example.path, Example.interface, "Hold", [])
        try eventually("the call is held") { example.held.count == 1 }
        example.held[0].answer { (values) throws(BusFault) in try values.append("last") }
        server.close()
        try eventually("the end is told") { !example.endings.isEmpty }
        #expect(example.endings == [nil])
        var message = try client.next()
        while !message.isAnswer(to: call) { message = try client.next() }
        #expect(try message.readText() == "last")
    }

    @Test func `an answer that is larger than the socket's room is sent before the end`() throws {
        let server = try example.serveByName(on: bus)
        let client = try MessageBusTests.client(on: bus)
        let call = try client.send(Example.name, Example.path, Example.interface, "Hold", [])
        try eventually("the call is held") { example.held.count == 1 }
        // sd-bus makes room for 8 MiB, which the kernel doubles; the bus takes 32 MiB.
        let text = String(repeating: "x", count: 24 << 20)
        example.held[0].answer { (values) throws(BusFault) in try values.append(text) }
        server.close()
        var message = try client.next()
        while !message.isAnswer(to: call) { message = try client.next() }
        #expect(try message.readText() == text)
        try eventually("the end is told") { example.endings == [nil] }
    }

    @Test func `a server that nobody holds ends`() throws {
        _ = try example.serveByName(on: bus)
        try eventually("the end is told") { example.endings == [nil] }
    }

    @Test func `a connection that fails says so`() throws {
        bus.stop()
        #expect(throws: BusError.self) { try example.serve(on: bus) }
        let refused = #expect(throws: BusError.self) {
            try DetachedThread.$areRefused.withValue(true) { try example.serve(on: bus) }
        }
        #expect(refused == BusError("pthread_create", code: EAGAIN))
        #expect(example.endings.isEmpty, "it did not begin")
    }

    @Test(arguments: [("noInterface", "Said", "s"), ("org.example.A", "Said it", "s"), ("org.example.A", "Said", "?")])
    func `what D-Bus cannot name is not served`(name: String, signal: String, types: String) throws {
        let interface = ServedInterface(name, signals: [ServedSignal(signal, types)]) { _ in true }
        let objects = ServedObjects(at: "/org/example", interfaces: [interface])
        let error = #expect(throws: BusError.self) {
            try BusServer(.address(bus.address), thread: "ostiary-test", serving: objects)
        }
        #expect(error?.code == EINVAL)
    }
}

/// Who calls, as the bus tells it.
@Suite(.timeLimit(.minutes(10))) struct BusCallerTests {
    /// A bus newer than Debian 12's gives a process's descriptor too; a service answers as that would.
    @Test func `a caller's process comes as a descriptor, if the bus gives it`() throws {
        let bus = try PrivateBus()
        let (name, path, interface) = ("org.example.Bus", "/org/example/Bus", "org.example.Bus1")
        let service = try MockService(name, at: path, interface: interface, on: bus)
        defer { service.stop() }
        func add(_ member: String, _ code: String) throws {
            try bus.call(
                name, path, "org.freedesktop.DBus.Mock.AddMethod", [interface, member, "''", "a{sv}", code])
        }
        let known = "'UnixUserID': dbus.UInt32(5), 'ProcessID': dbus.UInt32(6), 'UnixGroupIDs': dbus.Array([1], 'u')"
        try add("Whole", "ret = {\(known), 'ProcessFD': dbus.types.UnixFd(0)}")
        try add("Older", "ret = {\(known)}")
        try add("NoUser", "ret = {'ProcessID': dbus.UInt32(6)}")
        let client = try Bus(to: bus.address, acceptsDescriptors: true)
        let whole = try BusCaller(":1.9", in: client.call(name, path, interface, "Whole"))
        #expect(whole.name == ":1.9" && whole.userID == 5 && whole.processID == 6)
        let process = try #require(whole.process)
        #expect(fcntl(process.number, F_GETFD) == FD_CLOEXEC)
        #expect(try BusCaller(":1.9", in: client.call(name, path, interface, "Older")).process == nil)
        let error = #expect(throws: BusError.self) {
            try BusCaller(":1.9", in: client.call(name, path, interface, "NoUser"))
        }
        #expect(error == BusError("GetConnectionCredentials", code: EBADMSG))
    }

    @Test func `a peer that is not there is no caller`() throws {
        let bus = try PrivateBus()
        let client = try Bus(on: UnixSocket.connect(to: bus.path))
        #expect(try BusCaller.named(":1.99", on: client) == nil)
    }
}

@Suite struct BusAddressTests {
    @Test func `the session's bus is where the environment says`() throws {
        let both = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/a", "XDG_RUNTIME_DIR": "/run/user/1"]
        #expect(try BusAddress.session.text { both[$0] } == "unix:path=/a")
        let folder = ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/run/user/1,guid=0"]
        #expect(try BusAddress.session.text { folder[$0] } == "unix:path=/run/user/1%2cguid%3d0/bus")
        #expect(throws: BusError("DBUS_SESSION_BUS_ADDRESS", code: ENOENT)) { try BusAddress.session.text { _ in nil } }
    }

    @Test func `the environment has no say about the system's bus`() throws {
        #expect(try BusAddress.system.text { _ in "unix:path=/a" } == "unix:path=/run/dbus/system_bus_socket")
    }

    @Test(arguments: ["unixexec:path=/bin/sh", "tcp:host=localhost", "unix:path=/a;unixexec:path=/bin/sh"])
    func `an address that executes a program or leaves the machine is refused`(address: String) {
        #expect(throws: BusError("sd_bus_set_address", code: EPROTONOSUPPORT)) {
            try BusAddress.address(address).text()
        }
    }
}
