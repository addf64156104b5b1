-- What is said again in other capitals is found, however short it is.

-- The number in `begins` is another one now: that of the first three telling words in small letters, and where there are
-- fewer, of all words of the memory; 0 of one without any. It is worked out anew before the next statement is compared.
UPDATE nodes SET begins = NULL WHERE begins IS NOT NULL;
