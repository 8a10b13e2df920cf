/* What a program does with certificates and identities, and the answers about its task. */
#include "program.h"

#include <stdio.h>

void certificates(const char *certificate_digits, const char *key_digits)
{
    CFErrorRef error = NULL;
    CFDataRef bytes = hexadecimal(certificate_digits), key_bytes = hexadecimal(key_digits), junk = data("junk");
    SecCertificateRef certificate = SecCertificateCreateWithData(kCFAllocatorDefault, bytes);
    truth("is a certificate", CFGetTypeID(certificate) == SecCertificateGetTypeID());
    CFDataRef same_bytes = SecCertificateCopyData(certificate);
    truth("same bytes", CFEqual(bytes, same_bytes));
    CFStringRef summary = SecCertificateCopySubjectSummary(certificate), name = NULL;
    text("summary", summary);
    status("name", SecCertificateCopyCommonName(certificate, &name));
    text("common name", name);
    CFDataRef serial = SecCertificateCopySerialNumberData(certificate, &error);
    printf("serial number: %02x\n", CFDataGetBytePtr(serial)[CFDataGetLength(serial) - 1]);
    CFArrayRef addresses = NULL;
    status("addresses", SecCertificateCopyEmailAddresses(certificate, &addresses));
    printf("addresses in it: %ld\n", CFArrayGetCount(addresses));
    text("first address", CFArrayGetValueAtIndex(addresses, 0));
    CFDataRef issuer = SecCertificateCopyNormalizedIssuerSequence(certificate);
    CFDataRef subject = SecCertificateCopyNormalizedSubjectSequence(certificate);
    truth("issuer is subject", CFEqual(issuer, subject));
    CFRelease(addresses);
    CFRelease(subject);
    CFRelease(issuer);

    CFMutableDictionaryRef attributes = dictionary();
    CFDictionarySetValue(attributes, kSecAttrKeyType, kSecAttrKeyTypeECSECPrimeRandom);
    CFDictionarySetValue(attributes, kSecAttrKeyClass, kSecAttrKeyClassPrivate);
    SecKeyRef key = SecKeyCreateWithData(key_bytes, attributes, &error), public_key = SecKeyCopyPublicKey(key);
    SecKeyRef certified = SecCertificateCopyKey(certificate);
    truth("certified key", CFEqual(certified, public_key));
    SecIdentityRef identity = SecIdentityCreate(kCFAllocatorDefault, certificate, key);
    truth("is an identity", CFGetTypeID(identity) == SecIdentityGetTypeID());
    SecCertificateRef same_certificate = NULL;
    SecKeyRef same_key = NULL;
    status("certificate", SecIdentityCopyCertificate(identity, &same_certificate));
    status("key", SecIdentityCopyPrivateKey(identity, &same_key));
    truth("same parts", CFEqual(certificate, same_certificate) && CFEqual(key, same_key));

    CFMutableDictionaryRef item = dictionary(), query = dictionary();
    CFDictionarySetValue(item, kSecValueRef, identity);
    status("add", SecItemAdd(item, NULL));
    CFDictionarySetValue(query, kSecClass, kSecClassIdentity);
    CFDictionarySetValue(query, kSecReturnRef, kCFBooleanTrue);
    CFTypeRef found = NULL;
    status("find", SecItemCopyMatching(query, &found));
    truth("found it", CFEqual(found, identity));

    status("name of nothing", SecCertificateCopyCommonName(NULL, &name));
    truth("name", name != NULL);
    status("name nowhere", SecCertificateCopyCommonName(certificate, NULL));
    status("addresses of nothing", SecCertificateCopyEmailAddresses(NULL, &addresses));
    status("addresses nowhere", SecCertificateCopyEmailAddresses(certificate, NULL));
    status("certificate of a key", SecIdentityCopyCertificate((SecIdentityRef)key, &same_certificate));
    status("key of a certificate", SecIdentityCopyPrivateKey((SecIdentityRef)certificate, &same_key));
    status("key nowhere", SecIdentityCopyPrivateKey(identity, NULL));
    truth("parts", same_certificate || same_key);
    refused("serial number of a key", SecCertificateCopySerialNumberData((SecCertificateRef)key, &error), &error);
    truth(
        "made of anything", SecCertificateCreateWithData(NULL, junk) || SecCertificateCreateWithData(NULL, NULL)
            || SecCertificateCreateWithData(NULL, (CFDataRef)key) || SecCertificateCopyData(NULL)
            || SecCertificateCopyNormalizedIssuerSequence((SecCertificateRef)key)
            || SecCertificateCopyNormalizedSubjectSequence(NULL)
            || SecCertificateCopySubjectSummary((SecCertificateRef)key) || SecCertificateCopyKey((SecCertificateRef)key)
            || SecIdentityCreate(NULL, certificate, public_key) || SecIdentityCreate(NULL, NULL, key)
            || SecIdentityCreate(NULL, certificate, NULL) || SecIdentityCreate(NULL, (SecCertificateRef)key, key));
    /* Two owners: of the call that copied them, and of `identity`. */
    CFRelease(certificate);
    CFRelease(key);
    CFRelease(found);
    CFRelease(query);
    CFRelease(item);
    CFRelease(identity);
    CFRelease(certified);
    CFRelease(public_key);
    CFRelease(attributes);
    CFRelease(serial);
    CFRelease(summary);
    CFRelease(same_bytes);
    CFRelease(junk);
    CFRelease(key_bytes);
    CFRelease(bytes);
}

void task(void)
{
    CFErrorRef error = NULL;
    SecTaskRef self = SecTaskCreateFromSelf(kCFAllocatorDefault);
    truth("is a task", CFGetTypeID(self) == SecTaskGetTypeID());
    CFStringRef name = string("keychain-access-groups");
    const void *names[] = {name}, *no_names[] = {kCFBooleanTrue};
    CFArrayRef list = CFArrayCreate(kCFAllocatorDefault, names, 1, &kCFTypeArrayCallBacks);
    CFArrayRef no_list = CFArrayCreate(kCFAllocatorDefault, no_names, 1, &kCFTypeArrayCallBacks);
    refused("entitlement", SecTaskCopyValueForEntitlement(self, name, &error), &error);
    CFDictionaryRef values = SecTaskCopyValuesForEntitlements(self, list, &error);
    truth("entitlements", !values || CFDictionaryGetCount(values) != 0);
    refused("identifier", SecTaskCopySigningIdentifier(self, &error), &error);
    printf("signed: %u\n", SecTaskGetCodeSignStatus(self));
    refused("entitlements of truth", SecTaskCopyValuesForEntitlements(self, no_list, &error), &error);
    refused("entitlements of nothing", SecTaskCopyValuesForEntitlements(self, NULL, &error), &error);
    refused("entitlement of nothing", SecTaskCopyValueForEntitlement(self, NULL, &error), &error);
    refused("entitlement of no task", SecTaskCopyValueForEntitlement((SecTaskRef)name, name, &error), &error);
    refused("identifier of no task", SecTaskCopySigningIdentifier(NULL, &error), &error);
    status("signed of no task", (OSStatus)SecTaskGetCodeSignStatus(NULL));
    CFRelease(values);
    CFRelease(no_list);
    CFRelease(list);
    CFRelease(name);
    CFRelease(self);
}
