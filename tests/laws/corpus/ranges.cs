$"{a:{b}" @"c""
#if X
class D<E> where
