import CPCSC
package import UnixSocket

/// A card that lies at a reader.
package struct PresentCard: Hashable, Sendable {
    /// The reader's name, as pcscd gives it.
    package let reader: String
    /// The reader's number of cards that came and went; it changes when the card is taken away.
    package let eventCount: UInt16
}

/// The card readers of pcscd, through libpcsclite. Where pcscd does not run there are none.
///
/// Each call connects to pcscd, so that nothing keeps an idle pcscd running.
package struct CardReaders: Sendable {
    package init() {}

    /// The number of readers, with a card or without.
    package var count: Int {
        guard let context = PCSCContext() else { return 0 }
        return context.readers().count
    }

    /// The cards at all readers now. A card that does not answer to power is left out.
    package func present() -> [PresentCard] {
        guard let context = PCSCContext() else { return [] }
        return context.cards()
    }

    /// Reaches a card. A write to the result is one command APDU, and a read the answer to it (ISO/IEC 7816-4). No other program
    /// reaches the card meanwhile. When the result is closed, the card loses its power.
    ///
    /// - Throws: when there are no descriptors left. A card that is gone, or that another program uses, shows as the result's end.
    package func open(_ card: PresentCard) throws(SystemCallError) -> Descriptor { try CardRelay.start(card) }
}
