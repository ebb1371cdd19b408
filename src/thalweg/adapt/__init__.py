"""Plans that improve while they run: from what was measured to what is done next.

Every policy is given what happened and answers with an order, a set of caches or the
like. None of them sees a row, and none can change an answer.
"""
