import LocalAuthenticationTesting
import Notes
import Testing

/// The app's own tests: no hardware, no question to a person, no waiting.
struct NoteBookTests {
    /// A device with a passcode and a finger, and notes in the book.
    private func withNotes(_ body: @Sendable (SimulatedDevice, NoteBook) async throws -> Void) async throws {
        try await SimulatedDevice.run { device async throws in
            try await device.setPasscode()
            try await device.enrollFinger(.rightIndex)
            let book = NoteBook()
            try book.save("milk, bread")
            try await body(device, book)
        }
    }

    @Test func `the finger opens the notes, and is asked for once`() async throws {
        try await withNotes { device, book async throws in
            device.person.touches(.rightIndex)
            #expect(try await book.open() == "milk, bread")
            #expect(device.questions.map(\.reason) == ["open the notes"])
        }
    }

    @Test func `a miss is forgiven, five lock out until the passcode`() async throws {
        try await withNotes { device, book async throws in
            device.person.touchesUnknownFinger().touches(.rightIndex)
            #expect(try await book.open() == "milk, bread")
            try await device.lockOutBiometry()
            await #expect(throws: NoteBook.Obstacle.lockedOut) { try await book.open() }
            try await device.enterPasscode()
            device.person.touches(.rightIndex)
            #expect(try await book.open() == "milk, bread")
        }
    }

    @Test func `cancel and the account's button are told apart`() async throws {
        try await withNotes { device, book async throws in
            device.person.cancels()
            await #expect(throws: NoteBook.Obstacle.cancelled) { try await book.open() }
            device.person.choosesFallback()
            await #expect(throws: NoteBook.Obstacle.wantsAccount) { try await book.open() }
            #expect(device.questions.last?.fallbackTitle == "Use the account's password")
        }
    }

    @Test func `after another finger was enrolled the notes must be fetched again`() async throws {
        try await withNotes { device, book async throws in
            try await device.enrollFinger(.leftThumb)
            device.person.touches(.leftThumb)
            await #expect(throws: NoteBook.Obstacle.fingersChanged) { try await book.open() }
            try book.save("milk, bread")
            device.person.touches(.leftThumb)
            #expect(try await book.open() == "milk, bread")
        }
    }

    @Test func `after a new start of the daemon the passcode opens the store, a finger the notes`() async throws {
        try await withNotes { device, book async throws in
            try await device.restart()
            device.person.enters(SimulatedDevice.passcode).touches(.rightIndex)
            #expect(try await book.open() == "milk, bread")
            #expect(device.questions.map(\.kind) == [.passcode, .touch])
        }
    }

    @Test func `a reader that is unplugged and a person who does not come open nothing`() async throws {
        try await withNotes { device, book async throws in
            device.person.waits()
            await #expect(throws: NoteBook.Obstacle.other) { try await book.open() }
            device.person.unplugsReader()
            await #expect(throws: NoteBook.Obstacle.other) { try await book.open() }
            #expect(device.questions.map(\.end) == [.timedOut, .takenAway])
        }
    }
}
