import Cancellations
import Foundation
import Glibc
import SecretItems
import SecretProgramSupport
import Testing
import UnixSocket

@testable import SecretService

@Suite struct PortalRequestsTests {
    private let handle = "/org/freedesktop/portal/desktop/request/1_5/one"

    @Test func `a request is that of its connection, and one at a handle`() throws {
        let requests = PortalRequests()
        let cancellation = try #require(requests.begin(handle, of: ":1.5"))
        #expect(requests.begin(handle, of: ":1.5") === nil && requests.contains(handle))
        #expect(!requests.cancel(handle, of: ":1.6") && !cancellation.isCancelled)
        #expect(requests.cancel(handle, of: ":1.5") && cancellation.isCancelled)
        requests.finish(handle)
        #expect(!requests.contains(handle) && !requests.cancel(handle, of: ":1.5"))
    }

    @Test(arguments: [
        "/", "/org/freedesktop/secrets", "/org/freedesktop/portal/desktop", "/org/freedesktop/portal/desktop/request",
    ])
    func `other handles are none`(handle: String) { #expect(PortalRequests().begin(handle, of: ":1.5") === nil) }

    @Test func `a connection's requests end with it`() throws {
        let requests = PortalRequests()
        let cancellation = try #require(requests.begin(handle, of: ":1.5"))
        requests.forget(":1.6")
        #expect(!cancellation.isCancelled)
        requests.forget(":1.5")
        #expect(cancellation.isCancelled)
    }

    @Test func `an application has a name`() {
        for name in ["org.example.App", "a", "app-1_2"] { #expect(ApplicationName(name)?.text == name) }
        for name in ["", "a b", "a/b", "ä", "a\n", String(repeating: "a", count: 256)] {
            #expect(ApplicationName(name) == nil)
        }
    }
}

/// The backend of the secret portal on a bus, and a front end that a test plays.
@Suite(.timeLimit(.minutes(10))) struct PortalTests {
    private static let backend = "org.freedesktop.impl.portal.desktop.ostiary"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let interface = "org.freedesktop.impl.portal.Secret"
    private let served: ServedSecrets
    private let frontend: BusProgram

    init() throws {
        served = try ServedSecrets()
        frontend = try BusProgram(served.bus.address)
    }

    /// Takes the name, and executes the system's file.
    private func takeName() throws {
        served.store.note(systemProgram: "xdg-desktop-portal", processID: getpid())
        _ = try frontend.call(
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName", to: "org.freedesktop.DBus",
            [.text("org.freedesktop.portal.Desktop"), .small(0)])
    }

    private func handle(_ name: String) -> String { "\(Self.path)/request/1_5/\(name)" }

    private func send(
        _ application: String, to pipe: CInt, handle name: String, by program: BusProgram
    ) throws -> BusProgram.Pending {
        try program.send(
            Self.path, Self.interface, "RetrieveSecret", to: Self.backend,
            [.path(handle(name)), .text(application), .descriptor(pipe), .properties([:])])
    }

    /// The response, and what came through the pipe.
    private func retrieve(
        _ application: String, handle name: String = "one", by program: BusProgram? = nil
    ) throws -> (response: BusDatum, secret: Data) {
        let pipe = Pipe()
        let sender = program ?? frontend
        let writer = pipe.fileHandleForWriting
        let pending = try send(application, to: writer.fileDescriptor, handle: name, by: sender)
        let answer = try sender.answer(pending)
        try writer.close()
        return (answer[0], pipe.fileHandleForReading.readDataToEndOfFile())
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    @Test func `an application has one secret, which no other application has`() throws {
        try takeName()
        let first = try retrieve("org.example.App")
        #expect(first.response == .small(0) && first.secret.count == 64)
        #expect(try retrieve("org.example.App").secret == first.secret)
        let other = try retrieve("org.example.Other")
        #expect(other.secret.count == 64 && other.secret != first.secret)
        #expect(served.store.rows.map(\.contents.collection) == ["portal", "portal"])
        let program = try served.program()
        #expect(try program.search([:]).unlocked == [], "no program of the session finds it")
    }

    @Test func `only the portal asks`() throws {
        let denied = "org.freedesktop.DBus.Error.AccessDenied"
        #expect(refusal { _ = try retrieve("org.example.App") } == denied, "nobody is the portal")
        try takeName()
        let other = try BusProgram(served.bus.address)
        #expect(refusal { _ = try retrieve("org.example.App", by: other) } == denied)
        #expect(served.store.rows.isEmpty)
        #expect(try retrieve("org.example.App").response == .small(0))
    }

    @Test func `a program outside of any sandbox, and a handle that is none, are refused`() throws {
        try takeName()
        let invalid = "org.freedesktop.DBus.Error.InvalidArgs"
        #expect(refusal { _ = try retrieve("") } == invalid)
        #expect(refusal { _ = try retrieve("a b") } == invalid)
        let elsewhere = refusal {
            let pipe = Pipe()
            _ = try frontend.call(
                Self.path, Self.interface, "RetrieveSecret", to: Self.backend,
                [
                    .path("/elsewhere"), .text("a"), .descriptor(pipe.fileHandleForWriting.fileDescriptor),
                    .properties([:]),
                ])
        }
        #expect(elsewhere == invalid && served.store.rows.isEmpty)
    }

    @Test func `a locked store asks, and the portal can take the request back`() throws {
        try takeName()
        served.store.setOpen(false)
        let pipe = Pipe()
        let writer = pipe.fileHandleForWriting.fileDescriptor
        let taken = try send("org.example.App", to: writer, handle: "taken", by: frontend)
        let question = try served.store.question()
        #expect(question.reason == "give the application “org.example.App” its secret")
        let other = try BusProgram(served.bus.address)
        #expect(
            refusal {
                _ = try other.call(
                    handle("taken"), "org.freedesktop.impl.portal.Request", "Close", to: Self.backend)
            } == "org.freedesktop.DBus.Error.AccessDenied")
        _ = try frontend.call(handle("taken"), "org.freedesktop.impl.portal.Request", "Close", to: Self.backend)
        #expect(try frontend.answer(taken)[0] == .small(1))
        #expect(question.answer == .cancelled && served.store.rows.isEmpty)
        let agreed = try send("org.example.App", to: writer, handle: "agreed", by: frontend)
        try served.store.question().end(.proved)
        #expect(try frontend.answer(agreed)[0] == .small(0))
        try pipe.fileHandleForWriting.close()
        #expect(pipe.fileHandleForReading.readDataToEndOfFile().count == 64)
    }

    @Test func `what was proved for the secret of one application gives no other one, and none twice`() throws {
        try takeName()
        let applications = ["org.example.One", "org.example.Two"]
        for application in applications { #expect(try retrieve(application).response == .small(0)) }
        for row in served.store.rows { served.store.change(row.id) { $0.isRuled = true } }
        for (index, application) in (applications + applications).enumerated() {
            let pipe = Pipe()
            let writer = pipe.fileHandleForWriting.fileDescriptor
            let pending = try send(application, to: writer, handle: "ruled\(index)", by: frontend)
            let question = try served.store.question()
            #expect(question.reason == "give the application “\(application)” its secret")
            question.end(.proved)
            #expect(try frontend.answer(pending)[0] == .small(0))
            try pipe.fileHandleForWriting.close()
            #expect(pipe.fileHandleForReading.readDataToEndOfFile().count == 64)
        }
        #expect(served.store.questions.count == 4)
    }

    @Test func `a pipe that takes nothing is a failure, and holds up nobody`() throws {
        try takeName()
        let pipe = Pipe()
        let writer = pipe.fileHandleForWriting.fileDescriptor
        let flags = fcntl(writer, F_GETFL)
        #expect(fcntl(writer, F_SETFL, flags | O_NONBLOCK) == 0)
        let filling = [UInt8](repeating: 0, count: 4096)
        while write(writer, filling, filling.count) > 0 {}
        let pending = try send("org.example.App", to: writer, handle: "full", by: frontend)
        #expect(try frontend.answer(pending)[0] == .small(2))
        #expect(try retrieve("org.example.App").response == .small(0))
    }
}
