import CGTK4
import Glibc
import PromptProgram
import PromptProtocol
import SecretBuffers

/// The field for a secret. GTK's entry holds an asterisk for each typed character; the characters themselves are taken
/// away before GTK stores them, into an ``EditedSecret``.
///
/// So GTK keeps no copy that it would not wipe. And it can tell nobody: GTK 4.8 sends every character that is typed
/// into a password entry over the accessibility bus, as text. Characters that do not come from the display (from the
/// clipboard, or from a program over the accessibility bus) are refused.
final class SecretField {
    let widget: Widget
    /// Shows what was typed, below the field.
    private(set) lazy var revealed = RevealedSecret(self)
    var revealButton: Widget?
    private let text: OpaquePointer
    private let input: DisplayInput
    private var secret = EditedSecret(capacity: PromptLimits.secretByteCount)
    private var isTooLong = false
    /// The entry is being changed by this class: the change passes as it is.
    private var isOwnChange = false

    /// - Parameter input: must outlive the field, and the field its widget.
    init(label: String, input: DisplayInput) {
        self.input = input
        widget = gtk_password_entry_new()!
        text = gtk_editable_get_delegate(OpaquePointer(widget))!
        setAccessibleLabel(label, of: widget)
        connectChanges()
    }

    /// The result of Enter.
    enum Submission: ~Copyable {
        case entered(SecretBytes)
        case nothing, tooLong
    }

    /// Takes the typed secret. The field is empty afterwards.
    func submit() -> Submission {
        defer { erase() }
        if isTooLong { return .tooLong }
        return secret.count == 0 ? .nothing : .entered(secret.take())
    }

    /// Wipes what was typed.
    func erase() {
        secret.removeAll()
        isTooLong = false
        change { gtk_editable_set_text(text, "") }
        revealed.redraw()
    }

    /// Lends each typed character in turn, out of the locked memory.
    func forEachCharacter(_ body: (UnsafeRawBufferPointer) -> Void) { secret.forEachCharacter(body) }

    private func change(_ body: () -> Void) {
        isOwnChange = true
        body()
        isOwnChange = false
    }

    // MARK: GTK's changes

    private func connectChanges() {
        let inserted:
            @convention(c) (
                UnsafeMutableRawPointer?, UnsafePointer<CChar>?, CInt, UnsafeMutablePointer<CInt>?,
                UnsafeMutableRawPointer?
            ) -> Void = { _, text, count, position, field in
                Unmanaged<SecretField>.fromOpaque(field!).takeUnretainedValue()
                    .insert(
                        UnsafeRawBufferPointer(start: text, count: count < 0 ? strlen(text!) : Int(count)), position!)
            }
        let deleted: @convention(c) (UnsafeMutableRawPointer?, CInt, CInt, UnsafeMutableRawPointer?) -> Void = {
            _, start, end, field in
            Unmanaged<SecretField>.fromOpaque(field!).takeUnretainedValue().delete(start, end)
        }
        connect("insert-text", unsafeBitCast(inserted, to: GCallback.self))
        connect("delete-text", unsafeBitCast(deleted, to: GCallback.self))
    }

    private func connect(_ signal: String, _ handler: @escaping GCallback) {
        g_signal_connect_data(
            UnsafeMutableRawPointer(text), signal, handler, Unmanaged.passUnretained(self).toOpaque(), nil,
            GConnectFlags(rawValue: 0))
    }

    /// Stands before GTK's own handler, which would store the characters.
    private func insert(_ characters: UnsafeRawBufferPointer, _ position: UnsafeMutablePointer<CInt>) {
        guard !isOwnChange else { return }
        g_signal_stop_emission_by_name(UnsafeMutableRawPointer(text), "insert-text")
        guard input.isBeingHandled else { return }
        guard let count = secret.insert(characters, before: Int(position.pointee)) else {
            // A cut-off secret would be another secret than the one that the person typed.
            isTooLong = true
            return
        }
        change {
            gtk_editable_insert_text(text, String(repeating: "*", count: count), CInt(count), position)
        }
        revealed.redraw()
    }

    private func delete(_ start: CInt, _ end: CInt) {
        guard !isOwnChange else { return }
        guard input.isBeingHandled else {
            g_signal_stop_emission_by_name(UnsafeMutableRawPointer(text), "delete-text")
            return
        }
        secret.remove(Int(start)..<(end < 0 ? Int.max : max(Int(start), Int(end))))
        revealed.redraw()
    }
}
