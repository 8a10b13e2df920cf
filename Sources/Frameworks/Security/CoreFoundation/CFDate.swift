public import Foundation

/// The moment so many seconds after 2001-01-01 00:00:00 UTC.
@discardableResult
public func CFDateCreate(_ allocator: CFAllocator!, _ at: CFAbsoluteTime) -> CFDate! {
    NSDate(timeIntervalSinceReferenceDate: at)
}

/// The seconds from 2001-01-01 00:00:00 UTC until now.
@discardableResult
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date.timeIntervalSinceReferenceDate }

/// The seconds from 1970-01-01 00:00:00 UTC to 2001-01-01 00:00:00 UTC.
public let kCFAbsoluteTimeIntervalSince1970: CFTimeInterval = 978_307_200
/// The seconds from 1904-01-01 00:00:00 UTC to 2001-01-01 00:00:00 UTC.
public let kCFAbsoluteTimeIntervalSince1904: CFTimeInterval = 3_061_152_000

/// The seconds from 2001-01-01 00:00:00 UTC to a moment; 0 for nil.
@discardableResult
public func CFDateGetAbsoluteTime(_ date: CFDate!) -> CFAbsoluteTime { date?.timeIntervalSinceReferenceDate ?? 0 }

/// The seconds from `otherDate` to `date`; 0 if one of them is nil.
@discardableResult
public func CFDateGetTimeIntervalSinceDate(_ date: CFDate!, _ otherDate: CFDate!) -> CFTimeInterval {
    guard let date, let otherDate else { return 0 }
    return date.timeIntervalSinceReferenceDate - otherDate.timeIntervalSinceReferenceDate
}

/// The order of two moments; nil comes first.
@discardableResult
public func CFDateCompare(
    _ date: CFDate!, _ otherDate: CFDate!, _ context: UnsafeMutableRawPointer!
) -> CFComparisonResult {
    guard let date, let otherDate else { return .ofMissing(date, otherDate) }
    return CFComparisonResult(date.compare(otherDate as Date))
}
